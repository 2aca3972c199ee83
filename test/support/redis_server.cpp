// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "support/child_process.hpp"
#include "support/places.hpp"
#include "support/redis_server.hpp"

#include <cerrno>
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
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <system_error>
#include <unistd.h>

namespace colock::test {

namespace {

[[noreturn]] void fail(char const* what)
{
    throw std::system_error{errno, std::generic_category(), std::string{"redis_cli: "} + what};
}

}  // namespace

redis_cli::redis_cli(std::string const& unix_socket)
    : socket_{testing::not_inherited(::socket(AF_UNIX, SOCK_STREAM, 0))}
{
    sockaddr_un where{};
    where.sun_family = AF_UNIX;
    if (unix_socket.size() >= sizeof where.sun_path)
        throw std::length_error{"redis_cli: the socket's path is too long"};
    unix_socket.copy(where.sun_path, unix_socket.size());
    timeval const limit{5, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (::connect(socket_, reinterpret_cast<sockaddr const*>(&where), sizeof where) != 0) {
        int const why = errno;
        ::close(socket_);
        errno = why;
        fail("connect");
    }
}

redis_cli::~redis_cli() { ::close(socket_); }

reply redis_cli::command(std::vector<std::string> const& words)
{
    send(words);
    return read();
}

void redis_cli::send(std::vector<std::string> const& words)
{
    std::string bytes = "*" + std::to_string(words.size()) + "\r\n";
    for (auto const& word : words)
        bytes += "$" + std::to_string(word.size()) + "\r\n" + word + "\r\n";
    for (std::string_view left = bytes; !left.empty();) {
        auto const sent = ::send(socket_, left.data(), left.size(), MSG_NOSIGNAL);
        if (sent < 0)
            fail("send");
        left.remove_prefix(static_cast<std::size_t>(sent));
    }
}

reply redis_cli::read()
{
    auto const line = read_line();
    auto const rest = line.substr(1);
    switch (line[0]) {
    case '+': return reply::of(std::string_view{rest});
    case '-': return reply::error(rest);
    case ':': return reply::of(std::int64_t{std::stoll(rest)});
    case '$': {
        auto const size = std::stoll(rest);
        return size < 0 ? reply{} : reply::of(read_bytes(static_cast<std::size_t>(size)));
    }
    case '*': {
        std::vector<reply> items;
        for (auto left = std::stoll(rest); left > 0; --left)
            items.push_back(read());
        return reply::of(std::move(items));
    }
    default: throw std::runtime_error{"redis_cli: not RESP2: " + line};
    }
}

bool redis_cli::is_closed() noexcept
{
    char next;
    auto const got = ::recv(socket_, &next, 1, MSG_PEEK | MSG_DONTWAIT);
    return got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
}

std::string redis_cli::read_line()
{
    std::size_t end;
    while ((end = received_.find("\r\n")) == received_.npos)
        fill();
    auto line = received_.substr(0, end);
    received_.erase(0, end + 2);
    return line;
}

std::string redis_cli::read_bytes(std::size_t count)
{
    while (received_.size() < count + 2)
        fill();
    auto bytes = received_.substr(0, count);
    received_.erase(0, count + 2);
    return bytes;
}

void redis_cli::fill()
{
    char buffer[4'096];
    auto const got = ::recv(socket_, buffer, sizeof buffer, 0);
    if (got < 0)
        fail("receive");
    if (got == 0)
        throw std::runtime_error{"redis_cli: the server closed the connection"};
    received_.append(buffer, static_cast<std::size_t>(got));
}

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

bool nothing_is_left_out()
{
    auto const* const in_ci = std::getenv("CI");
    return in_ci && std::string_view{in_ci} == "true";
}

std::vector<server_kind> installed_servers()
{
    auto const* const only = std::getenv("COLOCK_ONLY_SERVER");
    std::vector<server_kind> found;
    for (auto const kind : {server_kind::redis, server_kind::valkey}) {
        std::string const name = kind == server_kind::redis ? "redis" : "valkey";
        if (only && only != name)
            continue;
        if (!server_program(kind).empty())
            found.push_back(kind);
        else if (nothing_is_left_out())
            throw std::runtime_error{"CI=true, and there is no " + name + "-server"};
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
        if (std::chrono::steady_clock::now() > limit)
            throw std::runtime_error{"redis_server: does not start:\n" + contents(log)};
        ::poll(nullptr, 0, 2);
        if (process_.is_running())
            continue;
        // The port is reserved among tests. What is no test may have it for a moment.
        if (contents(log).find("Address already in use") == std::string::npos)
            throw std::runtime_error{"redis_server: does not start:\n" + contents(log)};
        ::poll(nullptr, 0, 100);
        process_ = child_process{command, log};
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

std::int64_t redis_server::listeners(std::string const& lock_channel, std::string const& way)
{
    auto const of_clients = ask("PUBSUB", way + "CHANNELS", lock_channel + ":*").items.size();
    return ask("PUBSUB", way + "NUMSUB", lock_channel).items.at(1).number +
        static_cast<std::int64_t>(of_clients);
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
