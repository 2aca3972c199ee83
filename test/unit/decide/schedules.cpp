// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
// Alarm queue and renewal schedule against naive models, with random operations.
#include "decide/alarm_queue.hpp"
#include "decide/renewal_schedule.hpp"
#include "support/seed.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

namespace colock::test {

namespace {

using namespace std::chrono_literals;
using std::chrono::milliseconds;
using time_point = std::chrono::steady_clock::time_point;
using decide::alarm_queue;
using decide::renewal_schedule;

time_point at(int ms) { return time_point{1'000s} + milliseconds{ms}; }

// ---- Alarm queue -----------------------------------------------------------------------------

BOOST_AUTO_TEST_SUITE(decide_alarm_queue)

BOOST_AUTO_TEST_CASE(acts_in_order_of_time_then_of_setting)
{
    alarm_queue what;
    std::string acted;
    alarm_queue::alarm a{[&] { acted += 'a'; }}, b{[&] { acted += 'b'; }}, c{[&] { acted += 'c'; }};
    BOOST_TEST(what.set(b, at(5)));
    BOOST_TEST(what.set(a, at(2)));
    BOOST_TEST(!what.set(c, at(5)));
    BOOST_TEST((what.next() == at(2)));
    what.run(at(1));
    BOOST_TEST(acted.empty());
    what.run(at(5));
    BOOST_TEST(acted == "abc");
    BOOST_TEST(what.empty());
    BOOST_TEST((what.next() == time_point::max()));
    BOOST_TEST(!a.is_set());
}

BOOST_AUTO_TEST_CASE(setting_again_moves)
{
    alarm_queue what;
    int acted = 0;
    alarm_queue::alarm a{[&] { ++acted; }};
    what.set(a, at(5));
    what.set(a, at(9));
    what.run(at(8));
    BOOST_TEST(acted == 0);
    what.run(at(9));
    what.run(at(9));
    BOOST_TEST(acted == 1);
}

BOOST_AUTO_TEST_CASE(acting_may_set_clear_and_destroy)
{
    alarm_queue what;
    std::string acted;
    auto gone = std::make_unique<alarm_queue::alarm>([&] { acted += "never"; });
    alarm_queue::alarm cleared{[&] { acted += "never"; }};
    alarm_queue::alarm again{[&] { acted += '2'; }};
    std::unique_ptr<alarm_queue::alarm> self;
    auto const act = [&] {
        acted += '1';
        gone.reset();
        cleared.clear();
        what.set(again, at(0));  // in the past: acts in this very run
        self.reset();
    };
    self = std::make_unique<alarm_queue::alarm>([&act] { act(); });
    what.set(*self, at(1));
    what.set(*gone, at(1));
    what.set(cleared, at(2));
    what.run(at(3));
    BOOST_TEST(acted == "12");
    BOOST_TEST(what.empty());
}

BOOST_AUTO_TEST_CASE(an_entry_may_set_itself_later)
{
    alarm_queue what;
    int acted = 0;
    std::optional<alarm_queue::alarm> beat;
    auto const act = [&] { what.set(*beat, at(10 * ++acted)); };
    beat.emplace([&act] { act(); });
    what.set(*beat, at(0));
    for (int ms = 0; ms <= 35; ++ms)
        what.run(at(ms));
    BOOST_TEST(acted == 4);
    what.clear();
    BOOST_TEST(!beat->is_set());
}

BOOST_AUTO_TEST_CASE(does_what_a_naive_model_does)
{
    random_numbers random;
    BOOST_TEST_CONTEXT("seed " << random.seed())
    {
        // Each entry, when it acts, does to others what its number says.
        constexpr int count = 12;
        alarm_queue what;
        std::vector<std::unique_ptr<alarm_queue::alarm>> entries(count);
        std::map<int, int> model;  // entry -> due
        std::vector<int> acted;
        int now = 0;
        auto const set = [&](int i, int due) {
            bool const earliest = std::ranges::all_of(model, [&](auto const& m) {
                return m.first == i || due < m.second;
            });
            bool const said = what.set(*entries[static_cast<std::size_t>(i)], at(due));
            BOOST_TEST(said == earliest);
            model[i] = due;
        };
        std::vector<std::function<void()>> acts;
        for (int i = 0; i != count; ++i)
            acts.emplace_back([&, i] {
                BOOST_TEST_REQUIRE(model.contains(i));
                // Nothing that is due earlier is left.
                for (auto const& [other, due] : model)
                    BOOST_TEST(due >= model[i]);
                BOOST_TEST(model[i] <= now);
                model.erase(i);
                acted.push_back(i);
            });
        auto const make = [&](int i) {
            auto const place = static_cast<std::size_t>(i);
            entries[place] =
                std::make_unique<alarm_queue::alarm>([act = &acts[place]] { (*act)(); });
        };
        for (int i = 0; i != count; ++i)
            make(i);
        for (int turn = 0; turn != 20'000; ++turn) {
            int const i = random.below(count);
            switch (random.below(6)) {
            case 0:
            case 1: set(i, now + random.below(40) - 5); break;
            case 2:
                entries[static_cast<std::size_t>(i)]->clear();
                model.erase(i);
                break;
            case 3:
                make(i);  // the old one is destroyed, perhaps while it is set
                model.erase(i);
                break;
            default:
                now += random.below(8);
                what.run(at(now));
                for (auto const& [other, due] : model)
                    BOOST_TEST_REQUIRE(due > now);
            }
            auto const least =
                std::ranges::min_element(model, {}, [](auto const& m) { return m.second; });
            BOOST_TEST_REQUIRE(
                (what.next() == (model.empty() ? time_point::max() : at(least->second)))
            );
            BOOST_TEST_REQUIRE(what.empty() == model.empty());
        }
        BOOST_TEST(acted.size() > 1'000U);
    }
}

BOOST_AUTO_TEST_SUITE_END()

// ---- Renewal schedule ------------------------------------------------------------------------

BOOST_AUTO_TEST_SUITE(decide_renewal_schedule)

BOOST_AUTO_TEST_CASE(renewal_is_due_after_a_third_and_spread)
{
    for (double jitter = 0; jitter < 1; jitter += 0.125) {
        auto const due = renewal_schedule::renewal_time(at(0), 30s, jitter);
        BOOST_TEST((due > at(9'000) && due <= at(10'000)));
        auto const soon = renewal_schedule::renewal_time(at(0), 100ms, jitter);
        BOOST_TEST((soon > at(30) && soon <= at(34)));
    }
    BOOST_TEST((renewal_schedule::renewal_time(at(0), 30s, 0) == at(10'000)));
}

BOOST_AUTO_TEST_CASE(a_failed_renewal_is_tried_soon_then_in_doubling_pauses)
{
    auto const retry = [](unsigned failures, bool is_busy = false, double jitter = 0) {
        return renewal_schedule::retry_time(at(0), 3s, failures, is_busy, jitter) - at(0);
    };
    BOOST_TEST((retry(0) == 10ms));
    BOOST_TEST((retry(1) == 20ms));
    BOOST_TEST((retry(4) == 160ms));
    BOOST_TEST((retry(5) == 300ms));  // a tenth of the lease
    BOOST_TEST((retry(4'000'000) == 300ms));
    BOOST_TEST((retry(1, false, 0.5) == 15ms));
    BOOST_TEST((retry(2, true) == 40ms));
    BOOST_TEST((retry(5, true) == 75ms));  // a fortieth
    BOOST_TEST((renewal_schedule::retry_time(at(0), 50ms, 3, false, 0) == at(10)));
}

BOOST_AUTO_TEST_CASE(what_is_due_together_goes_together)
{
    renewal_schedule what;
    renewal_schedule::entry a, b, c;
    what.set(a, at(100), at(2'000));
    what.set(b, at(115), at(2'000));
    what.set(c, at(130), at(2'000));
    auto const due = what.take(at(100), 20ms);
    BOOST_TEST(due.renew.size() == 2U);
    BOOST_TEST(due.lost.empty());
    BOOST_TEST((what.next() == at(130)));
    BOOST_TEST((a.renew_at() == decide::never));
    BOOST_TEST((a.lose_at() == at(2'000)));
}

BOOST_AUTO_TEST_CASE(a_short_lease_is_not_renewed_all_the_time)
{
    renewal_schedule what;
    renewal_schedule::entry a, b, c;
    what.set(a, at(100), at(164));
    what.set(b, at(101), at(165));
    what.set(c, at(102), at(166));
    BOOST_TEST(what.take(at(100), 20ms).renew.size() == 2U);
    BOOST_TEST((c.renew_at() == at(102)));
}

BOOST_AUTO_TEST_CASE(nothing_goes_before_something_is_due)
{
    renewal_schedule what;
    renewal_schedule::entry a;
    what.set(a, at(110), at(300));
    BOOST_TEST(what.take(at(100), 20ms).renew.empty());  // woken for something else
    BOOST_TEST((a.renew_at() == at(110)));
}

BOOST_AUTO_TEST_CASE(a_loss_comes_on_its_day_and_before_a_renewal)
{
    renewal_schedule what;
    renewal_schedule::entry a, b;
    what.set(a, at(90), at(100));  // nobody looked for a while
    what.set(b, decide::never, at(110));
    auto const early = what.take(at(100), 20ms);
    BOOST_TEST(early.renew.empty());
    BOOST_TEST((early.lost == std::vector{&a}));
    BOOST_TEST((what.take(at(110), 20ms).lost == std::vector{&b}));
    BOOST_TEST(what.empty());
}

BOOST_AUTO_TEST_CASE(does_what_a_naive_model_does)
{
    random_numbers random;
    BOOST_TEST_CONTEXT("seed " << random.seed())
    {
        struct times {
            int renew, lose;  // -1: never
        };
        constexpr std::size_t count = 10;
        renewal_schedule what;
        std::vector<std::unique_ptr<renewal_schedule::entry>> entries(count);
        for (auto& e : entries)
            e = std::make_unique<renewal_schedule::entry>();
        std::map<renewal_schedule::entry*, times> model;
        auto const point = [](int t) { return t < 0 ? decide::never : at(t); };
        auto const first_of = [&](times const& t) {
            return std::min(point(t.renew), point(t.lose));
        };
        auto const least = [&] {
            auto found = decide::never;
            for (auto const& [e, t] : model)
                found = std::min(found, first_of(t));
            return found;
        };
        int now = 0;
        for (int turn = 0; turn != 20'000; ++turn) {
            auto& entry = entries[static_cast<std::size_t>(random.below(count))];
            switch (random.below(5)) {
            case 0:
            case 1: {
                times const t{
                    random.one_in(3) ? -1 : now + random.below(60) - 5,
                    random.one_in(5) ? -1 : now + random.below(90) - 5};
                model.erase(entry.get());
                auto const before = least();
                bool const earliest = what.set(*entry, point(t.renew), point(t.lose));
                auto const mine = first_of(t);
                // What was removed may be remembered as earlier; then it is woken for nothing.
                if (earliest)
                    BOOST_TEST((mine < before));
                BOOST_TEST((what.next() <= mine));
                if (mine != decide::never)
                    model[entry.get()] = t;
                break;
            }
            case 2:
                what.remove(*entry);
                model.erase(entry.get());
                break;
            case 3:
                model.erase(entry.get());
                entry = std::make_unique<renewal_schedule::entry>();
                break;
            default:
                now += random.below(12);
                auto const window = random.below(3) * 5;
                auto const due = what.take(at(now), milliseconds{window});
                std::set<renewal_schedule::entry*> lost, renew, expect_lost, must_renew, may_renew;
                lost.insert(due.lost.begin(), due.lost.end());
                renew.insert(due.renew.begin(), due.renew.end());
                BOOST_TEST_REQUIRE(lost.size() == due.lost.size());
                BOOST_TEST_REQUIRE(renew.size() == due.renew.size());
                for (auto& [e, t] : model) {
                    if (t.lose >= 0 && t.lose <= now)
                        expect_lost.insert(e);
                    else if (t.renew >= 0 && t.renew <= now)
                        must_renew.insert(e);
                    else if (t.renew >= 0 && t.renew <= now + window)
                        may_renew.insert(e);
                }
                BOOST_TEST_REQUIRE((lost == expect_lost));
                // All that is overdue; what is due within the window may go along.
                BOOST_TEST_REQUIRE(std::ranges::includes(renew, must_renew));
                for (auto* e : renew)
                    BOOST_TEST_REQUIRE((must_renew.contains(e) || may_renew.contains(e)));
                for (auto* e : lost)
                    model.erase(e);
                for (auto* e : renew)
                    if ((model[e].renew = -1, model[e].lose < 0))
                        model.erase(e);
                if (!lost.empty() || !renew.empty())
                    BOOST_TEST_REQUIRE((what.next() == least()));
            }
            BOOST_TEST_REQUIRE((what.next() <= least()));
            if (turn % 7 == 0)
                BOOST_TEST_REQUIRE(what.empty() == model.empty());
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
