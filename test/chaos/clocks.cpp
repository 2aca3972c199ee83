// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Wall clocks that jump; the steady ones go on, as they do in the kernel.
#include "chaos/trials.hpp"
#include "chaos/wrong_clock.hpp"

#include <cstdlib>
#include <memory>

namespace colock::test {

namespace {

/// Whether that was conclusive.
bool server_jumps(int seconds)
{
    wrong_clock clock;
    auto const all = [&] {
        in_its_environment const meanwhile{clock};
        return std::make_unique<series>(
            "the server's clock jumps by " + std::to_string(seconds) + " s",
            arena_plan{.through = {"/usr/bin/env", "-u", "LD_PRELOAD"}}
        );
    }();
    auto const jump = [&](int to, int least, int most) {
        return fault{
            .name = "jump to " + std::to_string(to) + " s",
            .leaves = promise::fence,
            .begin = [&clock, to](arena&) { clock.set(to); },
            .least = least,
            .most = most,
            .takes_all = true};
    };
    for (int i = 0; i != chaos_trials(); ++i) {
        all->undergo({jump(seconds, 1'000, 2'000)});
        all->undergo({jump(0, 500, 1'000)});
    }
    all->finish();
    all->check_notice();
    return all->is_conclusive();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(clocks)

BOOST_AUTO_TEST_CASE(of_clients_jump_by_an_hour, *only_where_clocks_can_jump())
{
    until_conclusive([] {
        wrong_clock clock;
        series all{"wall clocks of clients jump by an hour", {.through = clock.program()}};
        for (int i = 0; i != 4 * chaos_trials(); ++i) {
            clock.set(i % 2 == 0 ? 3'600 : -3'600);
            BOOST_TEST(std::abs(clock.seen()) > 3'500);
            all.undergo({});
        }
        all.finish();
        all.check_exclusion();
        all.check_that_nothing_is_lost();
        return all.is_conclusive();
    });
}

// What expires, and when, the server measures by its wall clock.
BOOST_AUTO_TEST_CASE(of_the_server_jumps_by_ten_seconds, *only_where_clocks_can_jump())
{
    for (int const seconds : {10, -10})
        until_conclusive([seconds] { return server_jumps(seconds); });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
