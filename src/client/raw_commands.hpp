#pragma once

#include "decide/reply.hpp"
#include <colock/client.hpp>
#include <colock/detail/lock_id.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace colock {

inline namespace v0_3 {
namespace detail {

using replied = void(error_code, decide::reply);
void send_raw_command(
    core_ptr,
    asio::any_completion_handler<replied>,
    std::string about,
    std::vector<std::string> words
);

using answered_yes = void(error_code, bool);
void release_of(core_ptr, asio::any_completion_handler<answered_yes>, lock_id, std::string field);

}  // namespace detail
}  // namespace v0_3

/// Sends plain commands over the connections of a client, for the colock command.
class raw_commands {
public:
    explicit raw_commands(client const&);

    /// Sends a command to the server of the slot of `about`, over the link that its locks use. An
    /// error of the server is a reply. Errors and the limit are those of `client::ping`.
    template <detail::token_for<detail::replied> Token = boost::asio::deferred_t>
    auto ask(std::string about, std::vector<std::string> words, Token&& token = {}) const
    {
        return detail::initiate<detail::replied>(
            core_,
            &detail::send_raw_command,
            std::forward<Token>(token),
            std::move(about),
            std::move(words)
        );
    }

    /// Releases the lock for the owner with this field, which may be of any client, with a release
    /// message. False if that owner no longer has it: then nothing is released.
    template <detail::token_for<detail::answered_yes> Token = boost::asio::deferred_t>
    auto release_of(detail::lock_id which, std::string field, Token&& token = {}) const
    {
        return detail::initiate<detail::answered_yes>(
            core_,
            &detail::release_of,
            std::forward<Token>(token),
            std::move(which),
            std::move(field)
        );
    }

    /// The prefix of the fields of this client's holds.
    std::string const& uuid() const;

private:
    detail::core_ptr core_;
};

/// Listens to some channels as long as it lives.
class channel_listener {
public:
    /// `heard` is called with each message's channel and text on the client's executor, and with
    /// two empty texts when messages may have been missed.
    using handler_type = std::function<void(std::string channel, std::string text)>;

    channel_listener(client const&, std::vector<std::string> channels, handler_type heard);
    ~channel_listener();

private:
    class inside;
    std::shared_ptr<inside> inside_;
};

}  // namespace colock
