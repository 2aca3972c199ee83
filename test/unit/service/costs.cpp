// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// How many commands and changes of subscriptions something costs, where no page promises a number.
// A change that makes something cheaper lowers its bound.
#include "unit/service/fair.hpp"
#include "unit/service/two_clients.hpp"
#include <colock/permit_semaphore.hpp>
#include <colock/read_write_lock.hpp>
#include <colock/semaphore.hpp>

#include <boost/asio/detached.hpp>

#include <cstddef>
#include <set>

namespace colock::test {

namespace {

struct costs : two_clients {
    explicit costs(config settings = short_leases()) : two_clients{std::move(settings)} { begin(); }

    void begin()
    {
        commands_ = server->written().size();
        changes_ = server->changes().size();
    }
    std::size_t commands() const { return server->written().size() - commands_; }
    std::size_t changes() const { return server->changes().size() - changes_; }
    /// So many names whose calls go by one link.
    std::vector<std::string> names(std::size_t count, std::string const& prefix)
    {
        std::vector<std::string> found;
        for (std::size_t n = 0; found.size() != count; ++n)
            if (auto name = prefix + std::to_string(n);
                server->link_of(decide::slot_of(name)) == link())
                found.push_back(std::move(name));
        return found;
    }
    pending_hold take_there()
    {
        pending_hold p;
        lock{other, "k"}.acquire(p.token());
        time.settle();
        return p;
    }
    void renew_all()
    {
        server->link_down(link());
        mend();
    }

private:
    std::size_t commands_ = 0, changes_ = 0;
};

BOOST_FIXTURE_TEST_SUITE(service_costs, costs)

BOOST_AUTO_TEST_CASE(holds_that_are_dropped_and_taken_again)
{
    for (int i = 0; i != 10; ++i)
        hold const dropped = std::move(acquire().value());
    time.settle();
    BOOST_TEST(commands() <= 20U);
    BOOST_TEST(changes() == 0U);
}

BOOST_AUTO_TEST_CASE(the_first_wait_of_a_client)
{
    auto theirs = take_there();
    auto const waits = acquire();
    BOOST_TEST(commands() <= 2U);  // to stand in the list, once the mailbox is live
    BOOST_TEST(changes() <= 1U);
    BOOST_TEST(!waits.is_done());
}

BOOST_AUTO_TEST_CASE(a_wait_of_a_client_whose_mailbox_is_live)
{
    open_mailbox();
    auto theirs = take_there();
    begin();
    auto const waits = acquire();
    BOOST_TEST(commands() == 1U);
    BOOST_TEST(changes() == 0U);
    begin();
    auto const behind = acquire();
    BOOST_TEST(commands() == 0U);
    BOOST_TEST((!waits.is_done() && !behind.is_done()));
}

BOOST_AUTO_TEST_CASE(a_turn_from_client_to_client)
{
    open_mailbox();
    auto theirs = take_there();
    auto mine = acquire();
    begin();
    theirs.value().release(asio::detached);
    BOOST_TEST(time.advance_until([&] { return mine.is_done(); }, 100ms));
    BOOST_TEST(mine.succeeded());
    BOOST_TEST(commands() <= 1U);
    release(mine.value());
    BOOST_TEST(commands() <= 2U);
    BOOST_TEST(changes() == 0U);
}

BOOST_AUTO_TEST_CASE(a_turn_within_the_client_that_ends_a_tenure)
{
    std::vector<pending_hold> got;
    for (int i = 0; i != 4; ++i)
        got.push_back(acquire());
    release(got[0].value());
    time.advance(short_leases().max_tenure + 1ms);
    begin();
    release(got[1].value());
    BOOST_TEST(got[2].succeeded());
    BOOST_TEST(commands() <= 2U);  // released for real, and acquired again
}

BOOST_AUTO_TEST_CASE(a_wait_for_permits)
{
    redis.set_counter("s", 0);
    semaphore const some{client, "s"};
    begin();
    pending<> first, behind;
    some.acquire(first.token());
    time.settle();
    BOOST_TEST(commands() <= 3U);
    begin();
    some.acquire(behind.token());
    time.settle();
    BOOST_TEST(commands() == 0U);  // only the first asks
    BOOST_TEST((!first.is_done() && !behind.is_done()));
}

BOOST_AUTO_TEST_CASE(a_permit_from_its_acquire_to_its_release)
{
    redis.set_counter("p", 1);
    begin();
    pending<permit> got;
    permit_semaphore{client, "p"}.acquire(got.token());
    time.advance(1'001ms);  // renewed once
    got.value().release(asio::detached);
    time.advance(5s);
    BOOST_TEST(commands() <= 3U);
}

BOOST_AUTO_TEST_CASE(readers_behind_a_writer)
{
    read_write_lock const theirs{other, "k"}, mine{client, "k"};
    pending_hold writes;
    theirs.write().acquire(writes.token());
    time.settle();
    begin();
    auto const first = take(mine.read());
    std::vector<pending_hold> others(10);
    for (auto& each : others)
        mine.read().acquire(each.token());
    time.advance(500ms);
    BOOST_TEST(commands() <= 2U);  // the first asks alone
    BOOST_TEST(!first.is_done());
}

BOOST_AUTO_TEST_CASE(many_waits_at_once_change_the_subscriptions_together)
{
    std::vector<pending_hold> got(50);
    for (std::size_t i = 0; i != got.size(); ++i) {
        redis.occupy("key" + std::to_string(i), 2s);
        mutex("key" + std::to_string(i)).acquire(got[i].token());
    }
    time.settle();
    BOOST_TEST(changes() <= 2U);
}

BOOST_AUTO_TEST_CASE(renewals_of_many_holds)
{
    std::vector<hold> all;
    for (auto const& name : names(641, "held"))
        all.push_back(std::move(acquire(mutex(name)).value()));
    renew_all();
    begin();
    renew_all();
    BOOST_TEST(commands() <= 6U);  // up to 128 a call
}

BOOST_FIXTURE_TEST_CASE(heartbeats_of_many_fair_waiters, fair)
{
    server->serve = [](call const& c) {
        reply const r = c.what == &scripts::fair_keep
            ? each(std::vector(c.keys.size() / 4, waits(50'000)))
            : waits(50'000);
        return answer{answer::kind::replied, r, {}, {}};
    };
    std::vector<pending_hold> all;
    for (int i = 0; i != 600; ++i)
        all.push_back(wait());
    time.advance(beat);
    BOOST_TEST(server->count(scripts::fair_keep) <= 5U);  // up to 128 a call
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
