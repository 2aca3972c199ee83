// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Holds that copies must have: renewals, extensions, hand-overs and the releases that are owed.
#include "unit/harness.hpp"
#include <colock/countdown_latch.hpp>
#include <colock/permit_semaphore.hpp>
#include <colock/read_write_lock.hpp>
#include <colock/semaphore.hpp>

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace colock::test {

namespace {

using decide::copies;

config with_majority()
{
    auto c = short_leases();
    c.durability = durability::majority;
    return c;
}

/// A server that does all it is asked for. What wants copies lacks them while `is_short`.
struct copied : harness {
    explicit copied(config settings = with_majority()) : harness{std::move(settings)}
    {
        server->serve = [this](call const& c) -> std::optional<answer> {
            bool const takes = c.what->name.find("acquire") != std::string_view::npos;
            bool const frees = c.what->name.find("release") != std::string_view::npos;
            bool const counts =
                c.what->name.starts_with("permit") || c.what->name.starts_with("semaphore");
            auto value = counts ? done() : takes ? granted(++token) : frees ? released() : done();
            if (frees && is_gone)
                value = gone();
            bool const lacks = is_short && !c.wants.is_none();
            auto const missing = lacks ? error_code{error::not_replicated} : error_code{};
            return answer{answer::kind::replied, value, {}, {}, false, missing, {}, 1};
        };
    }

    std::vector<call> sent(scripts::script const& what) const
    {
        std::vector<call> all;
        std::ranges::copy_if(server->written(), std::back_inserter(all), [&](call const& c) {
            return c.what == &what;
        });
        return all;
    }

    bool is_short = false;
    bool is_gone = false;
    std::int64_t token = 0;
};

BOOST_FIXTURE_TEST_SUITE(service_copies, copied)

BOOST_AUTO_TEST_CASE(each_step_that_proves_a_hold_asks_for_the_copies_of_the_client)
{
    copies const majority{durability::majority};
    auto mine = std::move(acquire().value());
    BOOST_TEST((last().wants == majority));
    BOOST_TEST(mine.replicas() == 1U);
    time.advance(1s);
    BOOST_TEST_REQUIRE(server->count(scripts::renew) == 1U);
    BOOST_TEST((last().wants == majority));
    auto const longer = extend(mine, 5s);
    BOOST_TEST(longer.succeeded());
    BOOST_TEST((last().wants == majority));
    auto const shorter = extend(mine, 4s);
    BOOST_TEST(shorter.succeeded());
    BOOST_TEST(last().wants.is_none());  // nobody relies on less
    release(mine);
    BOOST_TEST(last().wants.is_none());
    BOOST_TEST(last().owes);
    BOOST_TEST(mine.replicas() == 0U);
}

BOOST_AUTO_TEST_CASE(a_call_says_otherwise)
{
    auto none = std::move(acquire({.durability = durability::none}).value());
    BOOST_TEST(last().wants.is_none());
    release(none);
    BOOST_TEST(!last().owes);
    auto all = std::move(acquire({.durability = durability::all}).value());
    BOOST_TEST((last().wants == copies{durability::all}));
    release(all);
    auto one = std::move(acquire({.sync_replicas = 1}).value());
    BOOST_TEST((last().wants == copies::of_replicas(1)));
    release(one);
    auto const both = acquire({.sync_replicas = 1, .durability = durability::none});
    time.settle();
    BOOST_TEST((both.ec() == error::invalid_argument));
    auto const odd = acquire({.durability = static_cast<durability>(9)});
    time.settle();
    BOOST_TEST((odd.ec() == error::invalid_argument));
}

// ---- Renewals ----------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_renewal_that_copies_lack_proves_nothing)
{
    auto const mine = std::move(acquire().value());
    auto const until = mine.valid_until();
    auto told = lost(mine);
    is_short = true;
    time.advance(2s);
    BOOST_TEST(server->count(scripts::renew) > 2U);
    BOOST_TEST((mine.valid_until() == until));
    BOOST_TEST(events->count("renew_failed") > 2);
    BOOST_TEST(events->count("renewed") == 0);
    time.advance(validity - margin - 2s - 1ms);
    BOOST_TEST(!told.is_done());
    time.advance(2ms);
    BOOST_TEST(told.succeeded());  // at the end of the last lease that they have
    BOOST_TEST(!mine);
    auto const warnings = std::ranges::count_if(log, [](std::string const& line) {
        return line.find("too few copies have its renewal") != std::string::npos;
    });
    BOOST_TEST(warnings >= 1);
}

BOOST_AUTO_TEST_CASE(a_renewal_that_they_have_again_saves_the_hold)
{
    auto const mine = std::move(acquire().value());
    is_short = true;
    time.advance(2s);
    is_short = false;
    time.advance(2s);
    BOOST_TEST(static_cast<bool>(mine));
    BOOST_TEST((mine.valid_until() > clock::now() + 1s));
}

BOOST_AUTO_TEST_CASE(holds_without_copies_are_renewed_apart)
{
    auto const durable = std::move(acquire().value());
    pending_hold other;
    lock{client, "other"}.acquire({.durability = durability::none}, other.token());
    time.settle();
    auto const plain = std::move(other.value());
    is_short = true;
    time.advance(4s);
    BOOST_TEST(!durable);
    BOOST_TEST(static_cast<bool>(plain));
    for (auto const& c : sent(scripts::renew))
        BOOST_TEST(c.wants.is_none() == (c.key() == "other"));
}

// One owner, two holds of one field: each gets what it asked for.
BOOST_AUTO_TEST_CASE(what_one_hold_wants_does_not_end_the_other)
{
    owner const me;
    auto const outer = std::move(acquire({.as = me, .durability = durability::none}).value());
    auto const inner = std::move(acquire({.as = me}).value());
    is_short = true;
    time.advance(4s);
    BOOST_TEST(static_cast<bool>(outer));
    BOOST_TEST(!inner);
}

// Their scripts set the lease as well, but prove nothing to the hold that stays.
BOOST_AUTO_TEST_CASE(releases_of_inner_holds_put_no_renewal_off)
{
    owner const me;
    auto const outer = std::move(acquire({.as = me}).value());
    for (int i = 0; i != 20; ++i) {
        auto inner = std::move(acquire({.as = me, .durability = durability::none}).value());
        time.advance(200ms);
        release(inner);
        time.advance(100ms);
        BOOST_TEST_REQUIRE(static_cast<bool>(outer));
    }
    BOOST_TEST(server->count(scripts::renew) >= 4U);
}

// ---- Extensions --------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(an_extension_that_copies_lack_is_taken_back)
{
    auto mine = std::move(acquire({.lease = 5s}).value());
    auto const until = mine.valid_until();
    is_short = true;
    auto const longer = extend(mine, 60s);
    time.settle();
    BOOST_TEST((longer.ec() == error::not_replicated));
    BOOST_TEST((mine.valid_until() == until));
    BOOST_TEST(server->count(scripts::extend) == 2U);
    BOOST_TEST(std::stoi(last().lease()) <= 5'000);  // what the copies have
    BOOST_TEST(last().wants.is_none());
}

BOOST_AUTO_TEST_CASE(so_is_that_of_a_renewed_hold)
{
    auto mine = std::move(acquire().value());
    is_short = true;
    auto const longer = extend(mine, 60s);
    time.settle();
    BOOST_TEST((longer.ec() == error::not_replicated));
    BOOST_TEST(last().lease() == "3000");
    is_short = false;
    time.advance(1s);
    BOOST_TEST(last().lease() == "3000");
    BOOST_TEST(static_cast<bool>(mine));
}

// ---- Hand-over ---------------------------------------------------------------------------------

config without_tokens()
{
    auto c = with_majority();
    c.fencing = false;
    return c;
}
struct tokenless : copied {
    tokenless() : copied{without_tokens()} {}
};

BOOST_FIXTURE_TEST_CASE(a_field_that_the_copies_have_is_handed_over_without_a_command, tokenless)
{
    auto first = std::move(acquire().value());
    auto const next = acquire();
    time.settle();
    auto const asked = server->written().size();
    release(first);
    BOOST_TEST_REQUIRE(next.succeeded());
    BOOST_TEST(next.value().replicas() == 1U);
    BOOST_TEST(server->written().size() == asked);
    BOOST_TEST(events->count("handed_over") == 1);
}

BOOST_AUTO_TEST_CASE(who_wants_more_than_the_copies_have_asks_again)
{
    auto first = std::move(acquire().value());
    auto const next = acquire({.durability = durability::all});
    time.settle();
    release(first);
    time.advance(20ms);
    BOOST_TEST_REQUIRE(next.succeeded());
    BOOST_TEST(events->count("handed_over") == 0);
    BOOST_TEST((sent(scripts::acquire).back().wants == copies{durability::all}));
}

// ---- What is owed ------------------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_release_is_over_before_the_copies_have_it)
{
    auto mine = std::move(acquire().value());
    server->keeps_copies_back = true;
    BOOST_TEST(release(mine).succeeded());
    BOOST_TEST(client.stats().owed_releases == 0U);
    BOOST_TEST(client.stats().owed_copies == 1U);
    server->cover();
    time.settle();
    BOOST_TEST(client.stats().owed_copies == 0U);
}

BOOST_AUTO_TEST_CASE(a_release_is_sent_again_to_who_is_the_primary_then)
{
    auto mine = std::move(acquire().value());
    server->keeps_copies_back = true;
    BOOST_TEST(release(mine).succeeded());
    auto const first = sent(scripts::release).front();
    is_gone = true;
    is_short = true;
    server->all_down();
    time.settle();
    BOOST_TEST(client.stats().owed_copies == 1U);
    server->all_up();
    time.settle();
    BOOST_TEST(server->count(scripts::release) >= 2U);
    BOOST_TEST(last().field() == first.field());
    BOOST_TEST(last().repeats);  // it may find nothing, and has to be covered
    BOOST_TEST((last().wants == copies{durability::majority}));
    BOOST_TEST(client.stats().owed_copies == 1U);
    is_short = false;
    time.advance(1s);
    BOOST_TEST(client.stats().owed_copies == 0U);
    auto const all = server->count(scripts::release);
    time.advance(5s);
    BOOST_TEST(server->count(scripts::release) == all);
}

BOOST_AUTO_TEST_CASE(nothing_is_owed_after_the_lease)
{
    auto mine = std::move(acquire().value());
    server->keeps_copies_back = true;
    release(mine);
    is_short = is_gone = true;
    server->all_down();
    time.settle();
    server->all_up();
    time.advance(4s);
    BOOST_TEST(client.stats().owed_copies == 0U);
    auto const all = server->count(scripts::release);
    time.advance(5s);
    BOOST_TEST(server->count(scripts::release) == all);
}

// The next waiter takes the field over by a script, and wants no copies of its own.
BOOST_AUTO_TEST_CASE(copies_of_earlier_holds_are_owed_the_release_of_the_field)
{
    auto first = std::move(acquire().value());
    auto next = acquire({.lease = 5s, .durability = durability::none});
    time.settle();
    release(first);
    BOOST_TEST_REQUIRE(next.succeeded());
    BOOST_TEST(server->count(scripts::release) == 0U);
    release(next.value());
    BOOST_TEST(last().owes);
}

BOOST_AUTO_TEST_CASE(closing_waits_until_the_copies_have_the_releases)
{
    auto const mine = std::move(acquire().value());
    server->keeps_copies_back = true;
    pending<> closed;
    client.close(closed.token());
    time.settle();
    BOOST_TEST(server->count(scripts::release) == 1U);
    BOOST_TEST(!closed.is_done());
    server->cover();
    time.settle();
    BOOST_TEST(closed.succeeded());
}

BOOST_AUTO_TEST_CASE(what_nobody_wants_is_owed_too)
{
    is_short = true;
    pending_try tried;
    lock{client, "key"}.try_acquire(tried.token());
    time.settle();
    BOOST_TEST((tried.ec() == error::not_replicated));
    BOOST_TEST(last().what->name == "release");
    BOOST_TEST(last().owes);
    BOOST_TEST(client.stats().owed_copies == 0U);
}

// The writer beside a reader has the reader's number each time: the same field.
BOOST_AUTO_TEST_CASE(a_field_that_is_taken_again_is_not_given_back_for_what_was_before)
{
    owner const me;
    read_write_lock const both{client, "rw"};
    auto take = [&](auto side) {
        pending_hold p;
        side.acquire({.as = me}, p.token());
        time.settle();
        BOOST_TEST_REQUIRE(p.succeeded());
        return std::move(p.value());
    };
    auto const writing = take(both.write());
    server->keeps_copies_back = true;
    auto reading = take(both.read());
    release(reading);
    auto const again = take(both.read());
    auto const before = server->count(scripts::read_release);
    server->all_down();
    time.settle();
    server->all_up();
    time.advance(1s);
    BOOST_TEST(server->count(scripts::read_release) == before);
    BOOST_TEST(static_cast<bool>(again));
    server->keeps_copies_back = false;
    server->cover();
}

// ---- Permits and counters ----------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_permit_that_copies_lack_is_given_back)
{
    permit_semaphore const pool{client, "pool", 3};
    pending<if_acquired<permit>> tried;
    is_short = true;
    pool.try_acquire(tried.token());
    time.advance(100ms);
    BOOST_TEST((tried.ec() == error::not_replicated));
    BOOST_TEST(server->count(scripts::permit_release) >= 1U);
    is_short = false;
    time.advance(1s);
    pending<permit> got;
    pool.acquire(got.token());
    time.settle();
    BOOST_TEST_REQUIRE(got.succeeded());
    BOOST_TEST((sent(scripts::permit_acquire).back().wants == copies{durability::majority}));
}

BOOST_AUTO_TEST_CASE(so_are_those_of_a_semaphore)
{
    semaphore const pool{client, "pool", 3};
    pending<bool> tried;
    is_short = true;
    pool.try_acquire(tried.token());
    time.advance(100ms);
    BOOST_TEST((tried.ec() == error::not_replicated));
    BOOST_TEST(server->count(scripts::semaphore_undo) >= 1U);
    is_short = false;
    time.advance(1s);
    auto const undone = sent(scripts::semaphore_undo).back();
    BOOST_TEST(undone.repeats);
    BOOST_TEST((undone.wants == copies{durability::majority}));
}

BOOST_AUTO_TEST_CASE(a_counter_is_released_before_the_copies_have_it)
{
    server->keeps_copies_back = true;
    semaphore const pool{client, "pool", 3};
    pending<> first, second;
    pool.release(first.token());
    time.settle();
    BOOST_TEST(first.succeeded());
    BOOST_TEST(client.stats().owed_copies == 1U);
    pool.release(second.token());
    time.settle();
    BOOST_TEST(!second.is_done());  // its number would hide the loss of the first
    is_short = true;
    server->all_down();
    time.settle();
    server->all_up();
    time.settle();
    auto const all = sent(scripts::semaphore_release_existing);
    BOOST_TEST_REQUIRE(all.size() >= 2U);
    BOOST_TEST(all.back().arguments == all.front().arguments, boost::test_tools::per_element());
    BOOST_TEST(all.back().repeats);
    is_short = server->keeps_copies_back = false;
    time.advance(1s);
    BOOST_TEST(second.succeeded());
    BOOST_TEST(client.stats().owed_copies == 0U);
}

BOOST_AUTO_TEST_CASE(a_latch_is_set_once_the_copies_have_it)
{
    countdown_latch const gate{client, "gate"};
    pending<bool> set;
    is_short = true;
    gate.try_set_count(2, set.token());
    time.settle();
    BOOST_TEST((set.ec() == error::not_replicated));
    is_short = false;
    pending<bool> again;
    gate.try_set_count(2, again.token());
    time.settle();
    BOOST_TEST(again.succeeded());
    BOOST_TEST((sent(scripts::latch_set).back().wants == copies{durability::majority}));
}

BOOST_AUTO_TEST_CASE(who_waits_for_a_latch_asks_for_no_copies)
{
    server->serve = [](call const&) { return answer{answer::kind::replied, reply::of(0), {}, {}}; };
    countdown_latch const gate{client, "gate"};
    pending<> open;
    gate.wait(open.token());
    time.settle();
    BOOST_TEST(open.succeeded());
    BOOST_TEST(last().wants.is_none());
}

// ---- Without -----------------------------------------------------------------------------------

BOOST_FIXTURE_TEST_CASE(without_a_profile_nothing_is_asked_or_owed, copied)
{
    copied plain{short_leases()};
    auto mine = std::move(plain.acquire().value());
    plain.time.advance(2s);
    BOOST_TEST(plain.extend(mine, 10s).succeeded());
    plain.release(mine);
    for (auto const& c : plain.server->written())
        BOOST_TEST((c.wants.is_none() && !c.owes && !c.repeats));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
