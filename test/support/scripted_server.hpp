// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "support/fake_transport.hpp"
#include <colock/config.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colock::test {

/// A server that says what a test tells it to say, on a port of 127.0.0.1 and on a thread of its
/// own. Commands that the test does not script get the answers of a healthy server.
///
/// Each call has taken effect when it returns. Scripts run on the server's thread, and may call
/// what they like here.
class scripted_server {
public:
    using words = std::vector<std::string>;
    using time_point = std::chrono::steady_clock::time_point;

    struct command {
        std::size_t connection = 0;  ///< counted from 1
        time_point at{};             ///< when the whole of it had come
        words said;  ///< the first one in capitals; a script sent as text stands as EVALSHA
        std::string number{};  ///< of a script's call, which does not stand in `said`

        bool is(std::string_view verb) const { return said.front() == verb; }
    };

    /// What is sent for a command. The number of a call is put in front, but for an error.
    struct answer {
        std::string bytes;           ///< empty: nothing, for now or for ever
        std::string flood{};         ///< follows `bytes`, again and again,
        std::size_t most_flood = 0;  ///< until so many bytes of it were sent
        bool is_last = false;        ///< then the connection is closed
        bool is_raw = false;         ///< `bytes` are sent as they are

        answer(std::string all) : bytes{std::move(all)} {}
        answer(char const* all) : bytes{all} {}
        answer(std::string all, std::string then, std::size_t most)
            : bytes{std::move(all)}
            , flood{std::move(then)}
            , most_flood{most}
        {}
    };
    using script = std::function<std::optional<answer>(command const&)>;

    explicit scripted_server(script = {});
    scripted_server(scripted_server const&) = delete;
    scripted_server& operator=(scripted_server const&) = delete;
    ~scripted_server();

    std::uint16_t port() const noexcept;
    address where() const { return {.host = "127.0.0.1", .port = port()}; }
    config by_port() const;

    /// What it says from now on; none: the usual.
    void say(script);

    /// It is a node of a cluster, and these are all slots.
    void serve(std::vector<wire::slots> const&);

    /// It is a Sentinel, and this is the port of the primary.
    void name(std::uint16_t primary);

    /// As it is sent in answer to this command: the number of a call stands in front.
    static std::string numbered(command const& to, std::string bytes);

    /// Sends bytes that are no answer, or a late one.
    void send(std::size_t connection, std::string bytes);

    /// Runs this on the server's thread, between two commands.
    void run(std::function<void()> const&);

    /// Returns when all that clients have sent is answered.
    void catch_up() const;

    /// Closes all connections.
    void cut();

    /// Closes all connections and refuses new ones, or accepts them again.
    void listen(bool);

    std::vector<command> heard() const;

    /// How many commands have begun with these words, on all connections.
    std::size_t count(std::string_view verb, std::string_view second = {}) const;

    /// How many connections have been made, and how many of them are open.
    std::size_t connections() const;
    std::size_t open_connections() const;

    /// How many bytes of floods were sent.
    std::size_t flooded() const;

private:
    struct inside;
    std::unique_ptr<inside> inside_;
};

}  // namespace colock::test
