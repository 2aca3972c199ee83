// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace colock::test {

/// Takes the messages of channels out of what a server sends (RESP3), and leaves the rest:
/// confirmations, replies, pings.
class message_filter {
public:
    /// What may pass on of all that has come. A value that isn't whole yet waits for the rest.
    std::string pass(std::string_view data, bool drops);

    std::size_t dropped() const noexcept { return dropped_; }

private:
    std::string waiting_;
    std::size_t dropped_ = 0;
};

/// What a proxy knows of one connection by what has passed on it.
struct passed_traffic {
    bool is_push = false;
    std::optional<std::size_t> reply_left;  ///< bytes until it is cut
    message_filter filter;
};

/// What a proxy does to the bytes that pass it.
class traffic_rules {
public:
    /// What is to go on of data from a client, or from the server.
    struct passage {
        std::string data;
        bool is_last = false;  ///< the connection ends behind it
    };
    passage request(std::string_view data, passed_traffic&);
    passage reply(std::string_view data, passed_traffic&);

    /// How often clients have sent this text.
    std::size_t seen(std::string_view text) const;

    // As the functions of `proxy` say.
    bool drops_messages = false;
    bool remembering = true;
    std::string text_to_rewrite, rewriting;
    std::string request_to_cut, request_to_mangle;
    std::size_t bytes_to_leave = 0;

private:
    std::string rewritten(std::string_view data) const;

    std::string requests_;
};

}  // namespace colock::test
