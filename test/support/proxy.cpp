// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "support/own_thread.hpp"
#include "support/proxy.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>
#include <cstdlib>
#include <list>
#include <optional>
#include <utility>

namespace colock::test {

namespace {

constexpr auto unfinished = std::string_view::npos;

/// Where the value that begins at `at` ends.
std::size_t end_of_value(std::string_view text, std::size_t at)
{
    auto const line = text.find("\r\n", at);
    if (line == text.npos)
        return unfinished;
    auto const rest = line + 2;
    auto const count = std::strtoll(text.data() + at + 1, nullptr, 10);
    switch (text[at]) {
    case '$':
    case '=':
    case '!': {
        auto const end = rest + (count < 0 ? 0 : static_cast<std::size_t>(count) + 2);
        return end > text.size() ? unfinished : end;
    }
    case '*':
    case '~':
    case '>':
    case '%': {
        auto end = rest;
        for (auto i = text[at] == '%' ? 2 * count : count; i > 0 && end != unfinished; --i)
            end = end < text.size() ? end_of_value(text, end) : unfinished;
        return end;
    }
    default: return rest;
    }
}

bool is_message(std::string_view value)
{
    return value.starts_with('>') &&
        (value.find("\r\nmessage\r\n") != value.npos || value.find("\r\nsmessage\r\n") != value.npos
        );
}

}  // namespace

std::string message_filter::pass(std::string_view data, bool drops)
{
    waiting_ += data;
    std::string passed;
    std::size_t at = 0;
    while (at < waiting_.size()) {
        auto const end = end_of_value(waiting_, at);
        if (end == unfinished)
            break;
        auto const value = std::string_view{waiting_}.substr(at, end - at);
        if (drops && is_message(value))
            ++dropped_;
        else
            passed += value;
        at = end;
    }
    waiting_.erase(0, at);
    return passed;
}

std::string slipping_replies::pass(std::string_view data, slip& next)
{
    waiting_ += data;
    std::string passed;
    std::size_t at = 0;
    while (at < waiting_.size()) {
        auto const end = end_of_value(waiting_, at);
        if (end == unfinished)
            break;
        auto const value = waiting_.substr(at, end - at);
        at = end;
        bool const is_of_script = value.starts_with('*') && !value.starts_with("*0");
        auto const what = is_of_script ? std::exchange(next, slip::none) : slip::none;
        if (what == slip::swapped) {
            kept_ = value;
            continue;
        }
        if (what != slip::lost)
            passed += value + std::exchange(kept_, {});
        if (what == slip::doubled)
            passed += value;
    }
    waiting_.erase(0, at);
    return passed;
}

traffic_rules::passage traffic_rules::request(std::string_view data, passed_traffic& passed)
{
    if (remembering)
        requests_ += data;
    if (data.find("SUBSCRIBE") != data.npos)
        passed.is_push = true;
    if (!request_to_cut.empty() && data.find(request_to_cut) != data.npos) {
        request_to_cut.clear();
        return {{}, true};
    }
    if (!request_to_mangle.empty() && data.find(request_to_mangle) != data.npos) {
        request_to_mangle.clear();
        passed.reply_left = bytes_to_leave;
    }
    return {rewritten(data)};
}

traffic_rules::passage traffic_rules::reply(std::string_view data, passed_traffic& passed)
{
    bool is_last = false;
    if (passed.reply_left) {
        data = data.substr(0, *passed.reply_left);
        *passed.reply_left -= data.size();
        is_last = *passed.reply_left == 0;
    }
    return {
        passed.is_push ? passed.filter.pass(data, drops_messages)
                       : passed.slipping.pass(data, next_slip),
        is_last};
}

std::string traffic_rules::rewritten(std::string_view data) const
{
    std::string text{data};
    if (text_to_rewrite.empty())
        return text;
    for (auto at = text.find(text_to_rewrite); at != text.npos; at = text.find(text_to_rewrite, at))
        text.replace(at, rewriting.size(), rewriting);
    return text;
}

std::size_t traffic_rules::seen(std::string_view text) const
{
    std::size_t count = 0;
    for (auto at = requests_.find(text); at != std::string::npos;
         at = requests_.find(text, at + text.size()))
        ++count;
    return count;
}

using asio::ip::tcp;

namespace {

tcp::endpoint loopback(std::uint16_t port) { return {asio::ip::address_v4::loopback(), port}; }

struct session {
    explicit session(tcp::socket c)
        : client{std::move(c)}
        , server{client.get_executor()}
        , gate{client.get_executor(), asio::steady_timer::time_point::max()}
    {}

    bool is(proxy::link which) const
    {
        return which == proxy::link::any || passed.is_push == (which == proxy::link::push);
    }
    bool holds_back(proxy::way direction) const
    {
        return held == proxy::way::both || held == direction;
    }
    void reset()
    {
        for (auto* s : {&client, &server}) {
            boost::system::error_code ignored;
            s->set_option(asio::socket_base::linger{true, 0}, ignored);
            s->close(ignored);
        }
        held.reset();
        gate.cancel();
    }

    tcp::socket client, server;
    asio::steady_timer gate;  // its waits end when something is let through
    std::optional<proxy::way> held;
    passed_traffic passed;
};

}  // namespace

struct proxy::inside : own_thread {
    explicit inside(std::uint16_t to) : server_port{to}, acceptor{context, loopback(0)}
    {
        asio::co_spawn(context, accept(), asio::detached);
        port = acceptor.local_endpoint().port();
        start();
    }

    ~inside() { stop(); }

    template <class F>
    void for_each(link which, F const& f)
    {
        for (auto const& s : std::list{sessions})
            if (s->is(which))
                f(*s);
    }

    asio::awaitable<void> accept()
    {
        for (;;) {
            auto [ec, client] = co_await acceptor.async_accept(quiet);
            if (ec)
                continue;
            ++accepted;
            if (!serving)
                continue;
            auto const s = std::make_shared<session>(std::move(client));
            s->held = hold_all;
            asio::co_spawn(context, serve(s), asio::detached);
        }
    }

    asio::awaitable<void> serve(std::shared_ptr<session> s)
    {
        sessions.push_back(s);
        auto const [ec] = co_await s->server.async_connect(loopback(server_port), quiet);
        boost::system::error_code ignored;
        s->client.set_option(tcp::no_delay{true}, ignored);
        s->server.set_option(tcp::no_delay{true}, ignored);
        if (ec)
            co_return end(*s);
        asio::co_spawn(context, pump(s, way::to_server), asio::detached);
        asio::co_spawn(context, pump(s, way::to_client), asio::detached);
    }

    asio::awaitable<void> pump(std::shared_ptr<session> s, way direction)
    {
        bool const up = direction == way::to_server;
        auto& from = up ? s->client : s->server;
        auto& to = up ? s->server : s->client;
        std::string buffer(65'536, '\0');
        for (bool more = true; more;) {
            auto const [ec, count] = co_await from.async_read_some(asio::buffer(buffer), quiet);
            traffic_rules::passage next{{}, true};
            if (std::string_view const data{buffer.data(), count}; !ec)
                next = up ? rules.request(data, s->passed) : rules.reply(data, s->passed);
            while (s->holds_back(direction))
                co_await s->gate.async_wait(quiet);
            if (latency.count() != 0) {
                asio::steady_timer later{context, latency};
                co_await later.async_wait(quiet);
            }
            auto const [failed, written] =
                co_await asio::async_write(to, asio::buffer(next.data), quiet);
            more = !next.is_last && !failed;
        }
        end(*s);
    }

    void end(session& s)
    {
        boost::system::error_code ignored;
        s.client.close(ignored);
        s.server.close(ignored);
        s.held.reset();
        s.gate.cancel();
        std::erase_if(sessions, [&](auto const& other) { return other.get() == &s; });
    }

    std::uint16_t server_port;
    std::uint16_t port = 0;
    tcp::acceptor acceptor;
    std::list<std::shared_ptr<session>> sessions;
    std::size_t accepted = 0;
    bool serving = true;
    std::optional<way> hold_all;
    std::chrono::milliseconds latency{0};
    traffic_rules rules;
};

proxy::proxy(std::uint16_t server_port) : inside_{std::make_unique<inside>(server_port)} {}

proxy::~proxy() = default;

std::uint16_t proxy::port() const noexcept { return inside_->port; }

void proxy::cut(link which)
{
    inside_->on_thread([&] { inside_->for_each(which, [](session& s) { s.reset(); }); });
}

void proxy::serve(bool on)
{
    inside_->on_thread([&] { inside_->serving = on; });
}

void proxy::hold_back(way direction, link which)
{
    inside_->on_thread([&] { inside_->for_each(which, [&](session& s) { s.held = direction; }); });
}

void proxy::hold_back_all(way direction)
{
    inside_->on_thread([&] {
        inside_->hold_all = direction;
        inside_->for_each(link::any, [&](session& s) { s.held = direction; });
    });
}

void proxy::let_through()
{
    inside_->on_thread([&] {
        inside_->hold_all.reset();
        inside_->for_each(link::any, [](session& s) {
            s.held.reset();
            s.gate.cancel();
        });
    });
}

void proxy::delay(std::chrono::milliseconds by)
{
    inside_->on_thread([&] { inside_->latency = by; });
}

void proxy::cut_reply(std::string request, std::size_t bytes)
{
    inside_->on_thread([&] {
        inside_->rules.request_to_mangle = std::move(request);
        inside_->rules.bytes_to_leave = bytes;
    });
}

void proxy::slip_reply(slip what)
{
    inside_->on_thread([&] { inside_->rules.next_slip = what; });
}

bool proxy::has_slipped() const
{
    return inside_->on_thread([&] { return inside_->rules.next_slip == slip::none; });
}

void proxy::cut_request(std::string request)
{
    inside_->on_thread([&] { inside_->rules.request_to_cut = std::move(request); });
}

void proxy::drop_messages(bool on)
{
    inside_->on_thread([&] { inside_->rules.drops_messages = on; });
}

void proxy::rewrite(std::string text, std::string by)
{
    inside_->on_thread([&] {
        inside_->rules.text_to_rewrite = std::move(text);
        inside_->rules.rewriting = std::move(by);
    });
}

void proxy::remember(bool on)
{
    inside_->on_thread([&] { inside_->rules.remembering = on; });
}

std::size_t proxy::seen(std::string_view text) const
{
    return inside_->on_thread([&] { return inside_->rules.seen(text); });
}

std::size_t proxy::connections() const
{
    return inside_->on_thread([&] { return inside_->accepted; });
}

}  // namespace colock::test
