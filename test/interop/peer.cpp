// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "interop/peer.hpp"

#include <cctype>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <poll.h>
#include <sstream>
#include <stdexcept>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace colock::test {

// ---- Lines -------------------------------------------------------------------------------------

line_process::line_process(std::vector<std::string> const& command)
{
    errors_ = (std::filesystem::temp_directory_path() / "colock-peer-XXXXXX").string();
    int const file = ::mkstemp(errors_.data());
    int ends[2];
    if (file < 0 || ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
        throw std::system_error{errno, std::generic_category(), "line_process"};
    ::close(file);
    socket_ = ends[0];
    process_ = child_process{command, errors_, ends[1]};
    ::close(ends[1]);
}

line_process::~line_process()
{
    ::close(socket_);
    process_.kill();
    ::unlink(errors_.c_str());
}

void line_process::say(std::string_view line)
{
    auto const text = std::string{line} + '\n';
    for (std::size_t at = 0; at != text.size();) {
        auto const n = ::send(socket_, text.data() + at, text.size() - at, MSG_NOSIGNAL);
        if (n < 0)
            throw std::system_error{errno, std::generic_category(), "line_process"};
        at += static_cast<std::size_t>(n);
    }
}

std::optional<std::string> line_process::hear()
{
    char block[4'096];
    ssize_t n = 1;
    while ((n = ::recv(socket_, block, sizeof block, MSG_DONTWAIT)) > 0)
        received_.append(block, static_cast<std::size_t>(n));
    if (auto const end = received_.find('\n'); end != received_.npos) {
        auto line = received_.substr(0, end);
        received_.erase(0, end + 1);
        return line;
    }
    if (n == 0) {
        std::ostringstream errors;
        errors << std::ifstream{errors_}.rdbuf();
        throw std::runtime_error{"line_process: it has ended: " + errors.str()};
    }
    return {};
}

// ---- Redisson ----------------------------------------------------------------------------------

namespace {

std::string class_path()
{
    std::string const folder =
        java_peer::is_oldest() ? COLOCK_INTEROP_JAVA_OLDEST : COLOCK_INTEROP_JAVA;
    return folder + "/classes:" + folder + "/libraries/*";
}

}  // namespace

bool java_peer::is_oldest() { return std::getenv("COLOCK_OLDEST_REDISSON") != nullptr; }

java_peer::java_peer(redis_server& server, std::string const& scheme, std::string const& prefix)
    : process_{
          {COLOCK_JAVA,
           "-XX:TieredStopAtLevel=1",  // starts sooner
           is_oldest() ? "-Doldest=true" : "-Doldest=false",
           "-cp",
           class_path(),
           "Peer",
           scheme + "127.0.0.1:" + std::to_string(server.port()),
           std::to_string(watchdog.count()),
           prefix}}
{
    stopwatch const waited;
    while (answers_.erase(0) == 0) {
        if (waited.ms() > 30'000)
            throw std::runtime_error{"java_peer: does not start"};
        ::poll(nullptr, 0, 5);
        hear();
    }
}

void java_peer::hear()
{
    while (auto const line = process_.hear()) {
        std::istringstream words{*line};
        int number = 0;
        std::string how;
        outcome got;
        words >> number >> how >> std::ws;
        std::getline(words, got.text);
        got.failed = how != "ok";
        got.at = std::chrono::steady_clock::now();
        answers_[number] = std::move(got);
    }
}

java_peer::call java_peer::start(std::vector<std::string> const& words)
{
    auto line = std::to_string(++last_);
    for (auto const& word : words)
        line.append(" ").append(word);
    process_.say(line);
    return {*this, last_};
}

bool java_peer::call::is_done() const
{
    peer_->hear();
    return peer_->answers_.contains(number_);
}

asio::awaitable<java_peer::outcome> java_peer::call::wait(milliseconds limit) const
{
    auto const self = *this;
    bool const done = co_await ever([self] { return self.is_done(); }, limit);
    if (!done)
        throw std::runtime_error{"java_peer: no answer"};
    co_return std::move(peer_->answers_.extract(number_).mapped());
}

std::string java_peer::quoted(std::string_view name)
{
    constexpr std::string_view digits = "0123456789ABCDEF";
    std::string text;
    for (char const c : name) {
        auto const byte = static_cast<unsigned char>(c);
        if (std::isalnum(byte) != 0 || c == ':' || c == '-')
            text += c;
        else
            text.append({'%', digits[byte >> 4U], digits[byte & 15U]});
    }
    return text;
}

java_peer& shared_java()
{
    static java_peer one{shared_server(server_kind::redis)};
    return one;
}

void java_lab::run(std::function<asio::awaitable<void>()> what, milliseconds limit)
{
    run_only(std::move(what), limit);
    // It deletes them after the answer of its unlock.
    run_only([this]() -> asio::awaitable<void> {
        co_await eventually([this] {
            return server().ask("KEYS", "redisson_unlock_latch:*").items.empty();
        });
    });
    lab::run([]() -> asio::awaitable<void> { co_return; });
}

}  // namespace colock::test
