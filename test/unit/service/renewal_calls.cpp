// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "support/as_hold.hpp"
#include "unit/harness.hpp"
#include <colock/permit_semaphore.hpp>
#include <colock/read_write_lock.hpp>

namespace colock::test {

namespace {

constexpr std::size_t size = 6;

/// Holds that one call renews; the real scripts run.
struct together : harness {
    explicit together(config settings = short_leases()) : harness{std::move(settings)}
    {
        redis.attach(*server);
        for (std::size_t n = 0; names.size() != size; ++n)
            if (auto name = "key" + std::to_string(n);
                server->link_of(decide::slot_of(name)) == link())
                names.push_back(name);
        for (auto const& name : names)
            all.push_back(std::move(acquire(mutex(name), {.as = me}).value()));
        renew_all();
        BOOST_TEST_REQUIRE(last().keys.size() == size);
    }

    /// Confirms all holds by one call.
    void renew_all()
    {
        server->link_down(link());
        mend();
    }

    /// Lets time pass until the next call of renewals is written. The server runs it, and its
    /// answer is held back.
    expectation& next_call()
    {
        auto& next = server->expect(scripts::renew);
        BOOST_TEST_REQUIRE(time.advance_until([&] { return next.has_come(); }, 1'001ms));
        ran = redis.run(next.seen());
        return next;
    }
    void answer_late(expectation& held_back) { respond(held_back, ran); }

    std::size_t calls() const { return server->count(scripts::renew); }
    bool are_held() const
    {
        return std::ranges::all_of(all, [](auto const& h) { return static_cast<bool>(h); });
    }
    bool are_valid_from(time_point sent) const
    {
        return std::ranges::all_of(all, [sent](auto const& h) {
            return h.valid_until() == sent + validity;
        });
    }

    reply ran;  ///< of `next_call`
    owner const me;
    script_server redis;
    std::vector<std::string> names;
    std::vector<hold> all;
};

BOOST_FIXTURE_TEST_SUITE(service_renewal_calls, together)

BOOST_AUTO_TEST_CASE(one_call_renews_all_again_and_again)
{
    auto const before = calls();
    auto const told = events->count("renewed");
    time.advance(10s);
    auto const more = calls() - before;
    BOOST_TEST((more >= 10U && more <= 11U));
    BOOST_TEST(last().keys.size() == size);
    BOOST_TEST(last().arguments.size() == 2 * size);
    BOOST_TEST(are_valid_from(last().sent));
    BOOST_TEST((events->count("renewed") - told == static_cast<std::ptrdiff_t>(more * size)));
    for (auto const& name : names)
        BOOST_TEST((redis.lease_left(name) > 1'900ms));
}

BOOST_AUTO_TEST_CASE(what_is_lost_soonest_is_renewed_first)
{
    all.clear();
    std::vector<hold> many;
    for (int n = 0; many.size() != 640; ++n)
        if (auto name = "long" + std::to_string(n);
            server->link_of(decide::slot_of(name)) == link())
            many.push_back(std::move(acquire(mutex(name), {.lease = 60s, .renew = true}).value()));
    renew_all();
    std::string soon = "soon";
    while (server->link_of(decide::slot_of(soon)) != link())
        soon += 'x';
    auto const shortest = std::move(acquire(mutex(soon), {.lease = 1s, .renew = true}).value());
    auto const before = server->written().size();
    renew_all();
    auto const first = server->written().at(before);
    BOOST_TEST((first.what == &scripts::renew));
    BOOST_TEST(std::ranges::count(first.keys, soon) == 1);
    BOOST_TEST(bool{shortest});
}

BOOST_AUTO_TEST_CASE(an_extension_during_a_call_counts_and_stays)
{
    auto& call = next_call();
    auto const asked = time.now();
    auto longer = extend(all[2], 60s);
    BOOST_TEST(longer.succeeded());
    answer_late(call);  // which had set the old lease before
    BOOST_TEST((redis.lease_left(names[2]) > 59s));
    time.advance(5s);
    BOOST_TEST((redis.lease_left(names[2]) > 50s));
    BOOST_TEST((all[2].valid_until() >= asked + 59s));
    for (auto const& name : names)
        BOOST_TEST((name == names[2] || redis.lease_left(name) <= 3s));
    BOOST_TEST(are_held());
}

BOOST_AUTO_TEST_CASE(a_lost_answer_is_asked_for_again)
{
    auto const until = all.front().valid_until();
    next_call().lose();
    time.settle();
    BOOST_TEST((all.front().valid_until() == until));
    BOOST_TEST(events->count("renew_failed") == static_cast<std::ptrdiff_t>(size));
    time.advance(1s);
    BOOST_TEST(are_held());
    for (auto const& each : all)
        BOOST_TEST((each.valid_until() > until));
}

BOOST_AUTO_TEST_CASE(a_forced_one_is_told_and_the_others_stay)
{
    auto& call = next_call();
    auto told = lost(all[2]);
    auto forced = mutex(names[2]).force_release(settled());
    BOOST_TEST(told.succeeded());
    answer_late(call);
    all.erase(all.begin() + 2);
    BOOST_TEST(are_held());
    BOOST_TEST(are_valid_from(call.seen().sent));
}

BOOST_AUTO_TEST_CASE(readers_and_permits_are_renewed_together_too)
{
    std::string name = "x";
    while (server->link_of(decide::slot_of(name)) != link())
        name += 'x';
    redis.set_counter(name, 3);
    permit_semaphore const permits{client, name};
    std::vector<read_write_lock> sides;
    for (auto const* const end : {"a", "b", "c"}) {
        sides.emplace_back(client, "{" + name + "}" + end);
        pending_hold read;
        pending<permit> one;
        sides.back().read().acquire(read.token());
        permits.acquire(one.token());
        time.settle();
        all.push_back(std::move(read.value()));
        all.push_back(as_hold(std::move(one.value())));
    }
    renew_all();
    auto const count = [this](scripts::script const& s) { return server->count(s); };
    auto const reads = count(scripts::read_renew), extensions = count(scripts::permit_extend);
    time.advance(10s);
    BOOST_TEST(count(scripts::read_renew) - reads <= 11U);
    BOOST_TEST(count(scripts::permit_extend) - extensions <= 11U);
    BOOST_TEST(are_held());
    BOOST_TEST(redis.permits_out(name) == 3);
    for (auto const* const end : {"a", "b", "c"})
        BOOST_TEST((redis.lease_left("{" + name + "}" + end) > 1'900ms));
    redis.ask({"DEL", "{" + name + "}b"});
    time.advance(1'001ms);
    BOOST_TEST(std::ranges::count_if(all, [](auto const& h) { return !h; }) == 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
