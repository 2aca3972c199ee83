// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Whoever changes his mind, at whatever moment, leaves nothing: no key, no place in a queue, no
// hold and no waiter after two round trips, and no subscription and no entry of the key after the
// linger.
#include "chaos/cancelling.hpp"
#include "support/from_environment.hpp"

#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

namespace colock::test {

namespace {

/// How long things have stayed, behind what was done.
void report(std::string const& what, cancelling::outcome const& sum)
{
    std::cout << what << ", cancelled " << sum.cancelled << ", violations " << sum.violations
              << "; anything but what lingers stayed at the longest "
              << (sum.stayed.empty() ? 0 : std::ranges::max(sum.stayed))
              << " ms (two round trips are " << 4 * cancelling::delay.count()
              << " ms and more), all forgotten after " << sum.forgotten << " ms" << std::endl;
}

/// One acquire that is cancelled after so many handlers; false if it was over before.
bool cancelled_after(cancelling& all, kind of, bool is_taken, int handlers, random_numbers& dice)
{
    auto& context = all.where().context();
    std::vector<taken> before;
    bool const is_counted = of == kind::semaphore || of == kind::permits;
    auto const fill = [&]() -> asio::awaitable<void> {
        for (int i = 0; i != (is_counted ? chaos_permits : 1); ++i) {
            // A reader only waits for a writer.
            auto const what = of == kind::read ? kind::write : of;
            before.push_back(co_await take(all.of(1), what, all.name(of), {}));
        }
    };
    if (is_taken)
        all.where().run_only(fill);
    attempt one{all.of(0), of, all.name(of), dice};
    one.start(context);
    for (int i = 0; (i < handlers || !one.has_begun) && !one.over; ++i) {
        if (i == 24)
            before.clear();  // then it gets in
        context.run_one_for(20ms);
    }
    bool const was_over = one.over;
    if (!was_over)
        one.signal.emit(asio::cancellation_type::total);
    before.clear();
    all.where().run_only([&]() -> asio::awaitable<void> {
        bool const over = co_await eventually([&] { return one.over; }, 5s);
        BOOST_REQUIRE(over);
    });
    BOOST_TEST(!one.failed);
    return !was_over;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(cancellations)

BOOST_AUTO_TEST_CASE(at_random_moments)
{
    random_numbers dice;
    std::cout << "seed " << dice.seed() << std::endl;
    int const wanted = from_environment("COLOCK_CHAOS_CANCELLATIONS", 300);
    cancelling all{dice};
    all.where().run_only([&] { return all.prepare(); });
    for (auto const of : all_kinds) {
        cancelling::outcome sum;
        int runs = 0;
        auto const part = wanted / static_cast<int>(all_kinds.size()) + 1;
        all.where().run_only(
            [&]() -> asio::awaitable<void> {
                for (; sum.cancelled < part && runs != part; ++runs)
                    co_await all.round(of, sum);
            },
            10min
        );
        all.where().run_only([&] { return all.look_at_the_end(of, sum); });
        report(
            "cancelled at random moments, " + std::string{name_of(of)} + ": acquires " +
                std::to_string(16 * runs),
            sum
        );
    }
}

BOOST_AUTO_TEST_CASE(after_each_handler)
{
    random_numbers dice;
    int const step = from_environment("COLOCK_CHAOS_HANDLER_STEP", 1);
    cancelling all{dice};
    all.where().run_only([&] { return all.prepare(); });
    for (auto const of : all_kinds) {
        cancelling::outcome sum;
        for (bool const is_taken : {false, true}) {
            if (of == kind::latch && is_taken)
                continue;
            // A latch stays closed, so nobody gets through.
            int const most = of == kind::latch ? 40 : 400;
            bool goes_on = true;
            for (int handlers = dice.below(step); goes_on && handlers < most; handlers += step) {
                goes_on = cancelled_after(all, of, is_taken, handlers, dice);
                sum.cancelled += goes_on;
                BOOST_TEST_CONTEXT((is_taken ? "taken" : "free") << ", after " << handlers)
                all.where().run_only([&] { return all.look(of, sum); });
            }
            BOOST_TEST(goes_on == (of == kind::latch), name_of(of) << " has no end");
        }
        all.where().run_only([&] { return all.look_at_the_end(of, sum); });
        report("cancelled after each handler, " + std::string{name_of(of)}, sum);
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
