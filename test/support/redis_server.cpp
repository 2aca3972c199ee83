// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "support/redis_server.hpp"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <netinet/in.h>
#include <ostream>
#include <poll.h>
#include <sstream>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>

namespace colock::test {

namespace fs = std::filesystem;

namespace {

std::string path_of(server_kind kind)
{
    return kind == server_kind::redis ? COLOCK_REDIS_SERVER : COLOCK_VALKEY_SERVER;
}

/// A port that was free a moment ago.
std::uint16_t free_port()
{
    int const probe = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in where{};
    where.sin_family = AF_INET;
    where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof where;
    auto* const address = reinterpret_cast<sockaddr*>(&where);
    bool const ok = ::bind(probe, address, size) == 0 && ::getsockname(probe, address, &size) == 0;
    ::close(probe);
    if (!ok)
        throw std::runtime_error{"redis_server: no free port"};
    return ntohs(where.sin_port);
}

std::string contents(fs::path const& file)
{
    std::ostringstream text;
    text << std::ifstream{file}.rdbuf();
    return text.str();
}

}  // namespace

std::ostream& operator<<(std::ostream& to, server_kind kind)
{
    return to << (kind == server_kind::redis ? "redis" : "valkey");
}

std::vector<server_kind> installed_servers()
{
    std::vector<server_kind> found;
    for (auto const kind : {server_kind::redis, server_kind::valkey})
        if (!path_of(kind).empty())
            found.push_back(kind);
    return found;
}

redis_server::redis_server(server_kind kind, std::vector<std::string> lines, bool started)
    : kind_{kind}
    , lines_{std::move(lines)}
{
    auto pattern = (fs::temp_directory_path() / "colock-test-XXXXXX").string();
    if (!::mkdtemp(pattern.data()))
        throw std::runtime_error{"redis_server: no temporary folder " + pattern};
    folder_ = pattern;
    socket_ = folder_ + "/socket";
    port_ = free_port();
    if (!started)
        return;
    try {
        start();
    } catch (...) {
        std::error_code ignored;
        fs::remove_all(folder_, ignored);
        throw;
    }
}

redis_server::~redis_server()
{
    kill();
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
}

void redis_server::start()
{
    std::ofstream file{folder_ + "/server.conf"};
    file << "bind 127.0.0.1\nport " << port_ << "\nunixsocket " << socket_ << "\nunixsocketperm 700"
         << "\ndir " << folder_ << "\ndaemonize no\nsave \"\"\nappendonly no\n";
    for (auto const& line : lines_)
        file << line << '\n';
    file.close();

    auto const log = folder_ + "/log";
    auto const limit = std::chrono::steady_clock::now() + std::chrono::seconds{10};
    process_ = child_process{{path_of(kind_), folder_ + "/server.conf"}, log};
    while (!answers()) {
        if (!process_.is_running() || std::chrono::steady_clock::now() > limit)
            throw std::runtime_error{"redis_server: does not start:\n" + contents(log)};
        ::poll(nullptr, 0, 2);
    }
}

void redis_server::kill()
{
    cli_.reset();
    process_.kill();
    ::unlink(socket_.c_str());
}

void redis_server::restart()
{
    kill();
    start();
}

void redis_server::pause() { process_.signal(SIGSTOP); }

void redis_server::resume() { process_.signal(SIGCONT); }

config redis_server::by_socket() const
{
    config c;
    c.addresses = {address{.unix_socket = socket_}};
    return c;
}

config redis_server::by_port() const
{
    config c;
    c.addresses = {address{.host = "127.0.0.1", .port = port_}};
    return c;
}

redis_cli& redis_server::cli()
{
    if (!cli_)
        cli_ = std::make_unique<redis_cli>(socket_);
    return *cli_;
}

bool redis_server::answers()
{
    try {
        return ask("PING").text == "PONG";
    } catch (std::exception const&) {
        cli_.reset();
        return false;
    }
}

std::int64_t redis_server::info(std::string const& section, std::string_view key)
{
    auto const text = ask("INFO", section).text;
    auto const at = text.find(key);
    return at == text.npos ? 0 : std::strtoll(text.c_str() + at + key.size(), nullptr, 10);
}

std::int64_t redis_server::script_calls()
{
    return info("commandstats", "cmdstat_evalsha:calls=") +
        info("commandstats", "cmdstat_eval:calls=");
}

redis_server& shared_server(server_kind kind)
{
    static std::map<server_kind, std::unique_ptr<redis_server>> running;
    auto& found = running[kind];
    if (!found)
        found = std::make_unique<redis_server>(kind);
    return *found;
}

}  // namespace colock::test
