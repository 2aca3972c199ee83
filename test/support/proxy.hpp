// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
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

/// What goes wrong with one reply to a script.
enum class slip { none, lost, doubled, swapped };

/// Lets what a server sends pass, one value after the other, but for one reply.
class slipping_replies {
public:
    /// `next` is what happens to the next reply to a script; it is `none` once that has happened.
    std::string pass(std::string_view data, slip& next);

private:
    std::string waiting_;
    std::string kept_;  ///< until the reply behind it has passed
};

/// What a proxy knows of one connection by what has passed on it.
struct passed_traffic {
    bool is_push = false;
    std::optional<std::size_t> reply_left;  ///< bytes until it is cut
    message_filter filter;
    slipping_replies slipping;
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
    slip next_slip = slip::none;

private:
    std::string rewritten(std::string_view data) const;

    std::string requests_;
};

/// A network that misbehaves when told: passes bytes between clients and a server on 127.0.0.1, on
/// a thread of its own. Each call has taken effect when it returns.
class proxy {
public:
    /// Which connections; one is for pub/sub from its first SUBSCRIBE on.
    enum class link { any, command, push };
    enum class way { to_server, to_client, both };

    explicit proxy(std::uint16_t server_port);
    proxy(proxy const&) = delete;
    proxy& operator=(proxy const&) = delete;
    ~proxy();

    std::uint16_t port() const noexcept;

    /// Closes the connections that are there, with a reset.
    void cut(link = link::any);

    /// Whether a new connection is served; if not, it is closed at once.
    void serve(bool);

    /// The connections that are there become black holes: what is sent is swallowed for now, and
    /// an end is not passed on either. New ones are healthy.
    void hold_back(way, link = link::any);

    /// As above, and all new connections as well.
    void hold_back_all(way);

    /// Passes on what was held back, late as it is.
    void let_through();

    /// Each piece of data takes this much longer.
    void delay(std::chrono::milliseconds);

    /// The reply to the next request that contains `request` ends after that many bytes, and so
    /// does its connection.
    void cut_reply(std::string request, std::size_t bytes);

    /// The next reply to a script is lost, comes twice, or comes after the next one.
    void slip_reply(slip);
    bool has_slipped() const;

    /// The next connection that sends a request with this text is cut before it is passed on.
    void cut_request(std::string request);

    /// Whether the messages of channels reach clients; subscriptions and their confirmations do.
    /// Concerns push links that are made from now on as well as those that are there.
    void drop_messages(bool);

    /// From now on each request that contains `text` has `by`, of the same length, instead.
    void rewrite(std::string text, std::string by);

    /// Whether what clients send is kept for `seen`. It is, unless told otherwise, and grows.
    void remember(bool);

    /// How often clients have sent this text.
    std::size_t seen(std::string_view text) const;

    /// How many connections have been made.
    std::size_t connections() const;

private:
    struct inside;
    std::unique_ptr<inside> inside_;
};

}  // namespace colock::test
