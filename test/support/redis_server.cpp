// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "support/places.hpp"
#include "support/redis_server.hpp"

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <ostream>
#include <poll.h>
#include <sstream>
#include <stdexcept>
#include <unistd.h>

namespace colock::test {

namespace fs = std::filesystem;

namespace {

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
    auto const* const only = std::getenv("COLOCK_ONLY_SERVER");
    std::vector<server_kind> found;
    for (auto const kind : {server_kind::redis, server_kind::valkey}) {
        auto const* const name = kind == server_kind::redis ? "redis" : "valkey";
        if (!server_program(kind).empty() && (!only || std::string_view{only} == name))
            found.push_back(kind);
    }
    return found;
}

server_kind usual_server()
{
    auto const* const given = std::getenv("COLOCK_SERVER");
    return given && std::string_view{given} == "valkey" ? server_kind::valkey : server_kind::redis;
}

redis_server::redis_server(
    server_kind kind,
    std::vector<std::string> lines,
    bool started,
    std::vector<std::string> arguments
)
    : kind_{kind}
    , arguments_{std::move(arguments)}
{
    auto pattern = (fs::temp_directory_path() / "colock-test-XXXXXX").string();
    if (!::mkdtemp(pattern.data()))
        throw std::runtime_error{"redis_server: no temporary folder " + pattern};
    folder_ = pattern;
    socket_ = folder_ + "/socket";
    try {
        configure(lines);
        if (started)
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

void redis_server::configure(std::vector<std::string> const& lines)
{
    std::ofstream file{folder_ + "/server.conf"};
    file << "bind 127.0.0.1\nport " << port_ << "\nunixsocket " << socket_ << "\nunixsocketperm 700"
         << "\ndir " << folder_ << "\ndaemonize no\nsave \"\"\nappendonly no\n";
    for (auto const& line : lines) {
        file << line << '\n';
        if (line.starts_with("requirepass "))
            password_ = line.substr(line.find(' ') + 1);
    }
}

void redis_server::start()
{
    auto const log = folder_ + "/log";
    auto const limit = std::chrono::steady_clock::now() + std::chrono::seconds{10};
    std::vector<std::string> command{server_program(kind_), folder_ + "/server.conf"};
    command.insert(command.end(), arguments_.begin(), arguments_.end());
    process_ = child_process{command, log};
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
    paused_ = false;
    ::unlink(socket_.c_str());
}

void redis_server::restart()
{
    kill();
    start();
}

void redis_server::pause()
{
    process_.signal(SIGSTOP);
    paused_ = true;
}

void redis_server::resume()
{
    process_.signal(SIGCONT);
    paused_ = false;
}

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
    if (!cli_ || cli_->is_closed()) {
        cli_ = std::make_unique<redis_cli>(socket_);
        if (!password_.empty())
            cli_->command({"AUTH", password_});
    }
    return *cli_;
}

reply redis_server::command(std::vector<std::string> const& words)
{
    try {
        return cli().command(words);
    } catch (...) {
        cli_.reset();  // its answer, come late, would be the next one's
        throw;
    }
}

bool redis_server::answers()
{
    try {
        return ask("PING").text == "PONG";
    } catch (std::exception const&) {
        return false;
    }
}

std::int64_t redis_server::info(std::string const& section, std::string_view key)
{
    auto const text = ask("INFO", section).text;
    auto const at = text.find(key);
    return at == text.npos ? 0 : std::strtoll(text.c_str() + at + key.size(), nullptr, 10);
}

std::int64_t redis_server::script_calls() { return info("commandstats", "cmdstat_evalsha:calls="); }

redis_server& shared_server(server_kind kind)
{
    static std::map<server_kind, std::unique_ptr<redis_server>> running;
    auto& found = running[kind];
    if (!found)
        found = std::make_unique<redis_server>(kind);
    return *found;
}

}  // namespace colock::test
