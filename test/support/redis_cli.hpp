// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "decide/reply.hpp"

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace colock::test {

using decide::reply;

/// A small blocking client for the tests' own questions, apart from all that is tested. Each
/// operation throws when the server has not answered within five seconds.
class redis_cli {
public:
    explicit redis_cli(std::string const& unix_socket);
    redis_cli(redis_cli const&) = delete;
    redis_cli& operator=(redis_cli const&) = delete;
    ~redis_cli();

    /// Sends a command and reads its reply; an error of the server is a reply.
    reply command(std::vector<std::string> const& words);

    /// Sends one whose reply is read later, or never.
    void send(std::vector<std::string> const& words);

    template <class... Words>
    reply operator()(Words const&... words)
    {
        return command({std::string{words}...});
    }

    /// Reads what comes next: of a subscriber, a message.
    reply read();

    /// By the server.
    bool is_closed() noexcept;

private:
    std::string read_line();
    std::string read_bytes(std::size_t count);
    void fill();

    int socket_;
    std::string received_;
};

}  // namespace colock::test
