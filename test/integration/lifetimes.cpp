// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// How clients end: in order, at once, or with their context.
#include "integration/suites.hpp"

namespace colock::test {

BOOST_AUTO_TEST_SUITE(lifetimes)

// Nothing may run, crash or leak: the sanitizers see to the last two.
BOOST_AUTO_TEST_CASE(context_destroyed_with_all_pending)
{
    redis_server server;
    proxy network{server.port()};
    for (int after = 0; after != 12; ++after) {
        lab at{server};
        auto settings = quick(server.by_port());
        settings.addresses.front().port = network.port();
        auto& a = at.connect(settings);
        auto& b = at.connect(settings);
        auto const name = unique_name("context");
        auto work = [&]() -> asio::awaitable<void> {
            lock const of_a{a.client, name}, of_b{b.client, name};
            owner const me;
            hold first = co_await of_a.acquire({.as = me});
            hold again = co_await of_a.acquire({.as = me});
            auto wait = [&]() -> asio::awaitable<void> {
                hold const got = co_await of_b.acquire();
            };
            auto behind = [&]() -> asio::awaitable<void> {
                hold const got = co_await of_a.acquire();
            };
            auto watch = [&]() -> asio::awaitable<void> { co_await first.lost(); };
            tasks all{at.context()};
            all.start(wait);
            all.start(behind);
            all.start(watch);
            co_await of_a.is_locked();
            co_await again.release();
            co_await time_passes(1min);
        };
        // Between two handlers, ever later.
        int ends = 0;
        asio::co_spawn(at.context(), work, [&](std::exception_ptr) { ++ends; });
        for (int n = 0; n != after * 8; ++n)
            at.context().run_one_for(20ms);
        at.destroy_context();
        BOOST_TEST(ends == 0);
    }
    server.ask("FLUSHALL");
}

BOOST_AUTO_TEST_CASE(context_destroyed_while_the_server_is_busy)
{
    redis_server server{server_kind::redis, {"lua-time-limit 1"}};
    redis_cli other{server.unix_socket()};
    lab at{server};
    auto& c = at.connect();
    auto const name = unique_name("busy");
    at.run_only([&]() -> asio::awaitable<void> { co_await lock{c.client, name}.is_locked(); });
    other.send({"EVAL", "while true do end", "0"});
    bool done = false;
    lock{c.client, name}.is_locked([&](error_code, bool) { done = true; });
    while (server.ask("PING").text == "PONG") {}
    for (int n = 0; n != 40; ++n)
        at.context().run_one_for(5ms);
    BOOST_TEST(!done);
    server.ask("SCRIPT", "KILL");
    at.destroy_context();
    BOOST_TEST(!done);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
