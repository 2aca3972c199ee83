// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// The default logger, where nobody reads what it writes.
#include "integration/suites.hpp"
#include "support/blocked_stderr.hpp"

namespace colock::test {

BOOST_AUTO_TEST_SUITE(default_log)

BOOST_DATA_TEST_CASE(a_pipe_that_nobody_reads_delays_no_renewal, each_server(), kind)
{
    auto& server = shared_server(kind);
    lab at{server};
    blocked_stderr full;
    at.run([&]() -> asio::awaitable<void> {
        auto settings = server.by_socket();
        settings.lease = 500ms;
        BOOST_TEST_REQUIRE(bool{settings.log.sink});
        client mine{at.context().get_executor(), settings};
        mine.run(asio::detached);
        auto const held = co_await lock{mine, unique_name("log")}.acquire();
        auto const until = std::chrono::steady_clock::now() + 1'500ms;
        while (std::chrono::steady_clock::now() < until) {
            server.ask("CLIENT", "KILL", "TYPE", "normal");  // a warning each time
            asio::steady_timer pause{at.context(), 100ms};
            co_await pause.async_wait();
            BOOST_TEST_REQUIRE(bool{held});
        }
        co_await mine.close();
    });
    BOOST_TEST(full.read_until_end("\n").starts_with("colock warning: "));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
