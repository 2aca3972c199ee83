// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/admin/layout.hpp>
#include <colock/admin/reply.hpp>
#include <colock/client.hpp>
#include <colock/config.hpp>
#include <colock/detail/initiate.hpp>
#include <colock/error.hpp>

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

// For programs that look at the locks of others, and mend them: the `colock` command is made of it.
// A program that only uses locks needs none of it.
namespace colock {
inline namespace v0_3 {
namespace admin {

/// As what a lock is released for its owner.
enum class release_as {
    lock,    ///< a plain, spin or fenced lock, or an election
    fair,    ///< a fair lock; its owner leaves the queue, too
    reader,  ///< the read side of a read-write lock
    writer   ///< the write side of one
};

}  // namespace admin

namespace detail {

using replied = void(error_code, admin::reply);
void send_raw_command(core_ptr, handler<replied>, std::string about, std::vector<std::string>);

using said_whether_held = void(error_code, bool);
void release_of(
    core_ptr, handler<said_whether_held>, std::string name, admin::release_as, std::string field
);

}  // namespace detail

namespace admin {

/// The servers of a client, for commands that the client does not send by itself.
///
/// \par Executor, thread-safety, lifetimes
///   As for a `lock`: an immutable handle that shares ownership of the client's state.
class servers {
public:
    explicit servers(client const& of) : core_{detail::core_of(of)} {}

    /// Sends a command to the server of the slot of the key `about`, over the connection that its
    /// locks use: none that blocks or changes the connection.
    ///
    /// \par Completion signature
    ///   `void(error_code, reply)`; an error of the server is a reply.
    /// \par Errors
    ///   - `error::invalid_argument` — no words. Nothing was sent.
    ///   - those of `client::ping`
    /// \par Cancellation
    ///   terminal, partial, total: ends the wait; the command may still take effect.
    template <detail::token_for<detail::replied> Token = detail::default_token>
    auto ask(std::string about, std::vector<std::string> words, Token&& token = {}) const
    {
        return detail::initiate<detail::replied>(
            "ask",
            core_,
            &detail::send_raw_command,
            std::forward<Token>(token),
            std::move(about),
            std::move(words)
        );
    }

    /// Releases a lock for the owner with this field, which may be of any client, and tells those
    /// who wait. The owner hears of it at its next renewal; until then two may be at work.
    ///
    /// \par Completion signature
    ///   `void(error_code, bool)`; false if that owner no longer has it: then nothing is released.
    /// \par Errors
    ///   `error::invalid_argument`, `error::wrong_type`, `error::server_refused`, `error::closed`;
    ///   `error::unavailable` after `config::timeout`. It may be released then.
    /// \par Cancellation
    ///   terminal, partial, total: ends the wait; it may still be released.
    template <detail::token_for<detail::said_whether_held> Token = detail::default_token>
    auto release_of(std::string name, release_as how, std::string field, Token&& token = {}) const
    {
        return detail::initiate<detail::said_whether_held>(
            "release_of",
            core_,
            &detail::release_of,
            std::forward<Token>(token),
            std::move(name),
            how,
            std::move(field)
        );
    }

private:
    detail::client_share core_;
};

/// Listens to some channels as long as it lives.
///
/// \par Thread-safety
///   It is destroyed on the client's executor, and is not shared.
class channel_listener {
public:
    /// `heard` is called with each message's channel and text on the client's executor, and with
    /// two empty texts when messages may have been missed.
    using handler_type = std::function<void(std::string channel, std::string text)>;

    channel_listener(client const&, std::vector<std::string> channels, handler_type heard);
    channel_listener(channel_listener const&) = delete;
    channel_listener& operator=(channel_listener const&) = delete;
    ~channel_listener();

private:
    class inside;
    std::shared_ptr<inside> inside_;
};

/// The answers of a server. See `ask_server`.
struct server_answers {
    std::vector<reply> replies{};  ///< none: it did not answer
    std::chrono::system_clock::time_point asked{}, answered{};
};

/// Asks the first server of these settings, whatever its role: a replica, or a Sentinel. It makes a
/// connection of its own for that, which no lock uses. A refusal is an error among the replies.
///
/// \par Cancellation
///   terminal: no answers.
boost::asio::awaitable<server_answers> ask_server(
    config, std::vector<std::vector<std::string>> questions, std::chrono::milliseconds limit
);

}  // namespace admin
}  // namespace v0_3
}  // namespace colock
