// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "options.hpp"
#include "status.hpp"
#include <colock/admin.hpp>
#include <colock/client.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/io_context.hpp>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cli {

namespace asio = boost::asio;
using colock::error_code;
using colock::admin::reply;

/// The settings of a client of the deployment that the command line names. \throws failure
colock::config settings_of(options const&);

/// Where that is, without secrets: `127.0.0.1:6379`.
std::string place_of(colock::config const&);

/// A command for the server. (g++ 12 can't have a list in braces in what it awaits.)
template <class... Words>
std::vector<std::string> words(Words&&... each)
{
    std::vector<std::string> all;
    (all.emplace_back(std::forward<Words>(each)), ...);
    return all;
}

/// A client of the deployment, on one thread.
class session {
public:
    /// With settings that may differ from those of the command line.
    session(options const&, colock::config);

    asio::io_context& context() noexcept { return context_; }
    colock::client& redis() noexcept { return redis_; }
    colock::admin::servers const& server() const noexcept { return server_; }
    std::string const& place() const noexcept { return place_; }

    /// Whether there has ever been a connection for commands.
    bool was_up() const noexcept { return seen_->connection; }

    /// The client has seen this of its server so far.
    struct sight {
        bool connection = false;
        std::string loss{};  ///< why the last lost hold was lost
    };

    /// Whether there is a connection now.
    bool is_up() const { return redis_.stats().links_up != 0; }

    /// The client's warnings and errors, each once.
    std::vector<std::string> const& said() const noexcept { return *said_; }

    /// Runs `work` to its end. \returns what that returns; throws what it throws.
    int run(asio::awaitable<int> work);

    /// Waits for a connection. \throws failure
    asio::awaitable<void> connect();

    /// The server's reply, which may be an error. `about` is the key whose server it is.
    /// \throws failure
    asio::awaitable<reply> ask(std::string about, std::vector<std::string> words);

    /// Sends all of these at once, and waits for all. A reply may be an error. \throws failure
    using question = colock::admin::question;
    asio::awaitable<std::vector<reply>> ask_all(std::vector<question>);

    /// The same, but never with more than `most_at_once` of them under way. \throws failure
    asio::awaitable<std::vector<reply>> ask_many(std::vector<question>);
    static constexpr std::size_t most_at_once = 128;

    /// The failure for this error, with all that is known of the cause.
    failure because(std::string const& doing, error_code) const;

    /// Why a hold was lost, for the end of a line; nothing if none was.
    std::string why_lost() const;

private:
    std::string const& telling() const;

    options const& options_;
    std::string place_;
    asio::io_context context_{1};
    std::shared_ptr<sight> seen_ = std::make_shared<sight>();
    std::shared_ptr<std::vector<std::string>> said_ = std::make_shared<std::vector<std::string>>();
    std::optional<error_code> ended_;  ///< why the client doesn't run any more
    colock::client redis_;
    colock::admin::servers server_;
};

}  // namespace cli
