#pragma once

#include "decide/reply.hpp"
#include <colock/client.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace colock {

namespace detail {

using replied = void(error_code, decide::reply);
void inquire(
    core_ptr,
    asio::any_completion_handler<replied>,
    std::string about,
    std::vector<std::string> words
);

}  // namespace detail

/// Asks the server bare commands beside what the locks of a client need: for the colock command.
class inquiry {
public:
    explicit inquiry(client const&);

    /// Sends a command to the server of the slot of `about`, over the link that its locks use. An
    /// error of the server is a reply. Errors and the limit are those of `client::ping`.
    template <detail::token_for<detail::replied> Token = boost::asio::deferred_t>
    auto ask(std::string about, std::vector<std::string> words, Token&& token = {}) const
    {
        return detail::initiate<detail::replied>(
            core_, &detail::inquire, std::forward<Token>(token), std::move(about), std::move(words)
        );
    }

    /// With which the fields of this client's holds begin.
    std::string const& uuid() const;

private:
    detail::core_ptr core_;
};

/// Hears what is published on some channels, for as long as it lives.
class channel_ear {
public:
    /// `heard` is called with each message's channel and text on the client's executor, and with
    /// two empty texts when messages may have been missed.
    using hearing = std::function<void(std::string channel, std::string text)>;

    channel_ear(client const&, std::vector<std::string> channels, hearing heard);
    ~channel_ear();

private:
    class inside;
    std::shared_ptr<inside> inside_;
};

}  // namespace colock
