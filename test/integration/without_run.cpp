// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Programs that never call `run()`: main() makes a context and a client, runs the context, and
// expects that it comes to its end.
#include "integration/suites.hpp"
#include "support/patience.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/use_future.hpp>

#include <optional>
#include <string>
#include <thread>

namespace colock::test {

namespace {

/// What such a program has.
struct program {
    explicit program(config settings)
    {
        settings.log = lines.sink();
        client.emplace(context.get_executor(), std::move(settings));
    }
    ~program() { client.reset(); }

    /// Runs the context until it has no more work; false if it still has some after the limit.
    bool run(milliseconds limit = 10s)
    {
        context.restart();
        context.run_for(limit);
        return context.stopped();
    }

    /// Runs a coroutine, and the context until it has no more work.
    template <class F>
    bool run_work(F work, milliseconds limit = 10s)
    {
        asio::co_spawn(context, std::move(work), [](std::exception_ptr thrown) {
            if (thrown)
                std::rethrow_exception(thrown);
        });
        return run(limit);
    }

    log_lines lines;
    asio::io_context context{1};
    std::optional<colock::client> client;
};

/// Looks at the server, whatever the context does.
bool goes_from(redis_server& server, std::string const& name, milliseconds limit)
{
    stopwatch const watch;
    while (exists(server, name))
        if (watch.ms() > limit.count())
            return false;
    return true;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(without_run)

BOOST_DATA_TEST_CASE(a_lock_is_taken_and_given_back_and_the_program_ends, each_server(), kind)
{
    auto& server = shared_server(kind);
    program at{quick(server.by_socket())};
    auto const name = unique_name("plain");
    bool was_there = false;
    BOOST_TEST(at.run_work([&]() -> asio::awaitable<void> {
        hold held = co_await lock{*at.client, name}.acquire();
        was_there = exists(server, name);
        co_await held.release();
    }));
    BOOST_TEST(was_there);
    BOOST_TEST(!exists(server, name));
    BOOST_TEST(at.client->stats().links_up == 0U);
}

BOOST_AUTO_TEST_CASE(the_server_comes_up_later)
{
    redis_server server{usual_server(), {}, false};
    program at{quick(server.by_socket())};
    auto const name = unique_name("later");
    bool got = false;
    BOOST_TEST(at.run_work([&]() -> asio::awaitable<void> {
        auto const [tried, none] = co_await lock{*at.client, name}.try_acquire(tuple);
        BOOST_TEST(!!tried);
        server.start();
        hold held = co_await lock{*at.client, name}.acquire();
        got = true;
        co_await held.release();
    }));
    BOOST_TEST(got);
}

BOOST_AUTO_TEST_CASE(a_file_for_tls_that_is_not_there_fails_all)
{
    auto settings = quick(shared_server(usual_server()).by_port());
    settings.tls.enabled = true;
    settings.tls.ca_file = "/nowhere/ca.pem";
    program at{settings};
    error_code acquired, ran, later;
    lock const any{*at.client, "any"};
    any.acquire([&](error_code ec, hold const&) { acquired = ec; });
    at.client->run([&](error_code ec) {
        ran = ec;
        any.acquire([&](error_code again, hold const&) { later = again; });
    });
    BOOST_TEST(at.run());
    BOOST_TEST(acquired == error::invalid_tls);
    BOOST_TEST(ran == error::invalid_tls);
    BOOST_TEST(later == error::invalid_tls);
}

// As the first example does it where an exception leaves the block.
BOOST_DATA_TEST_CASE(destroyed_right_after_its_hold, each_server(), kind)
{
    auto& server = shared_server(kind);
    auto settings = quick(server.by_port());
    settings.lease = 30s;  // who finds the key gone has not waited for that
    for (int round = 0; round != 20; ++round) {
        auto const name = unique_name("destroyed");
        asio::io_context context{1};
        asio::co_spawn(
            context,
            [&]() -> asio::awaitable<void> {
                colock::client redis{co_await asio::this_coro::executor, settings};
                hold const held = co_await lock{redis, name}.acquire();
                BOOST_TEST(exists(server, name));
            },
            [](std::exception_ptr thrown) { BOOST_TEST(!thrown); }
        );
        context.run_for(5s);
        BOOST_TEST(context.stopped());  // after the destructor all work ends
        BOOST_TEST(!exists(server, name));
    }
}

BOOST_AUTO_TEST_CASE(destroyed_while_the_context_runs_on_another_thread)
{
    auto& server = shared_server(usual_server());
    auto settings = quick(server.by_port());
    settings.lease = 30s;
    for (int round = 0; round != 20; ++round) {
        auto const name = unique_name("thread");
        asio::io_context context{1};
        auto work = asio::make_work_guard(context);
        std::jthread runner{[&] { context.run(); }};
        {
            colock::client redis{context.get_executor(), settings};
            hold const held = lock{redis, name}.acquire(asio::use_future).get();
        }
        BOOST_TEST(goes_from(server, name, 5s));
        work.reset();
    }
}

BOOST_AUTO_TEST_CASE(destroyed_while_the_server_answers_nothing)
{
    redis_server server;
    auto settings = quick(server.by_socket());
    settings.lease = 30s;
    settings.timeout = 300ms;
    asio::io_context context{1};
    log_lines lines;
    settings.log = lines.sink();
    asio::co_spawn(
        context,
        [&]() -> asio::awaitable<void> {
            colock::client redis{co_await asio::this_coro::executor, settings};
            hold const held = co_await lock{redis, "silent"}.acquire();
            server.pause();
        },
        [](std::exception_ptr thrown) { BOOST_TEST(!thrown); }
    );
    stopwatch const watch;
    context.run_for(20s);
    BOOST_TEST(context.stopped());
    BOOST_TEST(watch.ms() >= 300);
    BOOST_TEST(watch.ms() < within(1'000));
    BOOST_TEST(lines.count("releases that the server has not confirmed") == 1U);
    server.resume();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
