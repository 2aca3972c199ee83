// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Two nodes stand for the leadership of a shard. One leads; when it is cut off, or resigns, it has
// stopped before the other begins.
//
//     leader [URL]        redis://127.0.0.1:6379 by default
#include "../run.hpp"
#include <colock/colock.hpp>

#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/experimental/channel.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>

namespace asio = boost::asio;
using boost::system::error_code;
using namespace std::chrono_literals;
using namespace asio::experimental::awaitable_operators;

// [shard
/// What is led. It keeps the highest token that it has seen, and takes nothing older.
struct shard {
    explicit shard(asio::any_io_executor executor) : terms{executor, 16} {}

    bool write(std::uint64_t token, std::string const& author)
    {
        if (!seen.admit(token))
            return false;
        if (token != last)
            terms.try_send(error_code{}, author);
        last = token;
        return true;
    }

    colock::fence seen;
    std::uint64_t last = 0;
    asio::experimental::channel<void(error_code, std::string)> terms;  // who begins to lead
    int leaders = 0;
};
// shard]

struct node {
    node(asio::any_io_executor executor, colock::config const& settings, std::string called)
        : redis{executor, settings}
        , name{std::move(called)}
    {
        redis.run(asio::detached);
    }

    colock::client redis;
    std::string name;
    bool resigns = false;
    std::uint64_t first_token = 0;
};

// NOLINTBEGIN(cppcoreguidelines-avoid-reference-coroutine-parameters)
// [lead
/// Runs while `held` is held, and is cancelled when it is lost: each co_await may be its last.
asio::awaitable<void> lead(node& self, shard& led, colock::hold& held)
{
    struct term {
        shard& led;
        explicit term(shard& s) : led{s} { ++led.leaders; }
        ~term() { --led.leaders; }
    } const in_office{led};
    if (led.leaders > 1)
        throw std::logic_error{"two leaders"};

    auto const token = held.fencing_token();
    if (self.first_token == 0)
        self.first_token = token;
    asio::steady_timer pause{co_await asio::this_coro::executor};
    while (!self.resigns && led.write(token, self.name)) {
        pause.expires_after(20ms);
        co_await pause.async_wait(asio::deferred);
    }
}
// lead]

// [campaign
/// Leads whenever it can, until it resigns or its client is stopped; else it stands by.
asio::awaitable<void> campaign(node& self, shard& led)
{
    colock::lock const office{self.redis, "leader:shard-7"};
    while (!self.resigns) {
        try {
            co_await colock::with_lock(office, [&](colock::hold& held) {
                return lead(self, led, held);
            });
        } catch (boost::system::system_error const& e) {
            if (e.code() == colock::error::closed)
                co_return;
            if (e.code() != colock::error::lost)
                throw;
            std::printf("%s has stepped down\n", self.name.c_str());
        }
    }
}
// campaign]

asio::awaitable<void> next_term(shard& led, std::string expected)
{
    std::string const leader = co_await led.terms.async_receive(asio::deferred);
    std::printf("%s leads\n", leader.c_str());
    if (leader != expected)
        throw std::logic_error{expected + " should lead"};
}

asio::awaitable<void> change_of_office(node& a, node& b, shard& led)
{
    std::puts("b resigns");
    b.resigns = true;
    co_await next_term(led, "a");
    a.resigns = true;
}

asio::awaitable<void> accidents(node& a, node& b, shard& led)
{
    std::puts("a is cut off");
    a.redis.stop();
    co_await next_term(led, "b");
    std::puts("a is back");
    a.redis.run(asio::detached);
    co_await (campaign(a, led) && change_of_office(a, b, led));
}

asio::awaitable<void> story(node& a, node& b, shard& led)
{
    co_await next_term(led, "a");
    co_await (campaign(b, led) && accidents(a, b, led));
}
// NOLINTEND(cppcoreguidelines-avoid-reference-coroutine-parameters)

asio::awaitable<void> example(std::string url)
{
    auto const executor = co_await asio::this_coro::executor;
    auto settings = colock::config::from_url(url);
    settings.lease = 1s;  // how long the shard is without a leader when one dies
    shard led{executor};
    node a{executor, settings, "a"};
    node b{executor, settings, "b"};
    co_await (campaign(a, led) && story(a, b, led));
    bool const late = led.write(a.first_token, "a");
    std::printf("a write from a's first term: %s\n", late ? "taken" : "refused");
    if (late)
        throw std::logic_error{"an old leader's write was taken"};
    co_await a.redis.close();
    co_await b.redis.close();
}

int main(int argc, char** argv) { return run(&example, argc, argv); }
