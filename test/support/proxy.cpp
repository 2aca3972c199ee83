// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "support/own_thread.hpp"
#include "support/proxy.hpp"
#include "support/proxy_traffic.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>
#include <list>
#include <optional>

namespace colock::test {

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
