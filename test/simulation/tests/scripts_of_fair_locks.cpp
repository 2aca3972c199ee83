// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What each script of fair locks promises, beside what Redisson's do to the same keys.
#include "decide/reply.hpp"
#include "simulation/tests/fair_calls.hpp"
#include "support/seed.hpp"

#include <deque>

namespace colock::simulation {

BOOST_AUTO_TEST_SUITE(scripts_of_fair_locks)

std::string const a = ours(1), b = ours(2), c = ours(3), d = ours(4);

BOOST_DATA_TEST_CASE(a_free_lock_is_redissons_hash, each_place(), where)
{
    fair_calls lock{where};
    for (int i = 0; i != 2; ++i) {  // twice is once
        BOOST_TEST(is_granted(lock.acquire(a)));
        BOOST_TEST(line(lock.texts("HGETALL", lock.name)) == line({a, "1"}));
        BOOST_TEST(lock.pttl(lock.name) == 30'000);
        BOOST_TEST(lock.keys() == lock.name);
    }
    BOOST_TEST(is(lock.release(a), 0));
    BOOST_TEST(lock.keys().empty());
    BOOST_TEST(is_gone(lock.release(a)));
}

BOOST_DATA_TEST_CASE(without_a_lease_no_lock_stays, each_place(), where)
{
    fair_calls lock{where};
    auto const refused = lock.run(
        scripts::fair_acquire, lock.keys_of_call(), lock.arguments(a, "9223372036854775807", 5'000)
    );
    BOOST_TEST(is_error(refused));
    BOOST_TEST(lock.keys().empty());
}

BOOST_DATA_TEST_CASE(scores_are_redissons, each_place(), where)
{
    for (bool const by_java : {false, true}) {
        fair_calls lock{where};
        lock.acquire(a);
        for (int i = 0; i != 2; ++i) {
            if (by_java)
                lock.java_acquire(b);
            else
                BOOST_TEST(refusal(lock.acquire(b)) == 30'000);
            BOOST_TEST(refusal(lock.acquire(c)) == 30'000);
            BOOST_TEST(lock.queue() == line({b, c}));
            BOOST_TEST(lock.score(b) == 330'000);
            BOOST_TEST(lock.score(c) == 630'000);
        }
        BOOST_TEST(lock.tickets() == line(by_java ? strings{c} : strings{b, c}));
        BOOST_TEST(lock.pttl(lock.at.queue) == -1);
        BOOST_TEST(lock.pttl(lock.at.timeouts) == -1);
        lock.release(a);
        for (int i = 0; i != 2; ++i) {
            BOOST_TEST(is_granted(lock.acquire(b)));
            BOOST_TEST(lock.holder() == b);
            BOOST_TEST(lock.queue() == c);
            BOOST_TEST(lock.score(c) == 330'000);
            BOOST_TEST(lock.score(b) == 0);
        }
        lock.release(b);
        BOOST_TEST(is_granted(lock.acquire(c)));
        lock.release(c);
        BOOST_TEST(lock.keys().empty());
    }
}

BOOST_DATA_TEST_CASE(a_force_tells_the_holder_and_the_first, each_place(), where)
{
    fair_calls lock{where};
    lock.listen(mailbox_of(newer(1)));
    lock.listen_as({b});
    lock.acquire(newer(1));
    lock.acquire(b);
    BOOST_TEST(is(lock.force(), 1));
    BOOST_TEST(lock.heard() == letter_to(newer(1), lock.name) + ' ' + lock.told(b));
}

BOOST_DATA_TEST_CASE(a_release_tells_the_first_alone, each_place(), where)
{
    for (auto const* name : {"order:42", "{tag}:order"}) {
        fair_calls lock{where, name};
        lock.listen_as({a, b, c, d});
        lock.acquire(a);
        lock.acquire(b);
        lock.acquire(c);
        BOOST_TEST(is(lock.release(a), 1));
        BOOST_TEST(lock.heard() == lock.told(b));
        // Nobody passes the first, who is asked to come once more when somebody leaves.
        BOOST_TEST(refusal(lock.acquire(c)) == 5'000);
        BOOST_TEST(refusal(lock.acquire(d, 0)) == 5'000);
        BOOST_TEST(lock.queue() == line({b, c}));
        BOOST_TEST(lock.heard().empty());
        BOOST_TEST(is_gone(lock.release(b)));
        BOOST_TEST(lock.heard() == lock.told(c));
        BOOST_TEST(lock.score(c) == 330'000);  // as Redisson's give-up has it
        BOOST_TEST(is_granted(lock.acquire(c)));
        lock.acquire(d);
        for (int const held : {1, 0})
            BOOST_TEST(is(lock.force(), held));
        BOOST_TEST(lock.heard() == lock.told(d));
        BOOST_TEST(is_gone(lock.release(c)));
        BOOST_TEST(is_gone(lock.release(d)));
        BOOST_TEST(lock.keys().empty());
    }
}

BOOST_DATA_TEST_CASE(after_the_lease_the_first_has_it, each_place(), where)
{
    fair_calls lock{where};
    lock.acquire(a);
    lock.acquire(b, 60'000);
    lock.pass(30'001);
    BOOST_TEST(!is_granted(lock.acquire(c, 0)));
    BOOST_TEST(is_granted(lock.acquire(b)));
}

BOOST_DATA_TEST_CASE(one_that_asks_once_is_not_queued, each_place(), where)
{
    fair_calls lock{where};
    lock.acquire(a);
    BOOST_TEST(refusal(lock.acquire(b, 0)) == 30'000);
    BOOST_TEST(lock.keys() == lock.name);
    lock.ask("PERSIST", lock.name);
    BOOST_TEST(refusal(lock.acquire(b, 0)) == -1);
    lock.release(a);
    BOOST_TEST(is_granted(lock.acquire(b, 0)));
}

BOOST_DATA_TEST_CASE(a_wait_ends_once, each_place(), where)
{
    fair_calls lock{where};
    lock.listen_as({b, c, d});
    lock.acquire(a);
    for (auto const& who : {b, c, d})
        lock.acquire(who);
    for (int i = 0; i != 2; ++i) {
        BOOST_TEST(is_gone(lock.release(b)));
        BOOST_TEST(lock.queue() == line({c, d}));
        BOOST_TEST(lock.tickets() == line({c, d}));
        BOOST_TEST(lock.score(c) == 330'000);
        BOOST_TEST(lock.score(d) == 630'000);
    }
    BOOST_TEST(is(lock.keep(b), 0));  // a late one brings nobody back
    BOOST_TEST(lock.queue() == line({c, d}));
    BOOST_TEST(lock.holder() == a);
    BOOST_TEST(lock.heard().empty());
}

// In one call, with one walk over the queue.
BOOST_DATA_TEST_CASE(
    a_crowd_that_leaves_leaves_the_timeouts_that_each_alone_would, each_place(), where
)
{
    strings timeouts;
    for (bool const alone : {true, false}) {
        fair_calls lock{where};
        strings keys, arguments;
        for (int i = 0; i != 6; ++i)
            lock.acquire(ours(i));
        for (int const i : {3, 1, 9}) {
            if (alone)
                BOOST_TEST(is_gone(lock.release(ours(i))));
            for (auto const& key : lock.keys_of_call())
                keys.push_back(key);
            arguments.insert(arguments.end(), {ours(i), lock.channel(), lock.wait});
        }
        if (!alone)
            lock.run_many(scripts::fair_release, keys, arguments);
        BOOST_TEST(lock.queue() == line({ours(2), ours(4), ours(5)}));
        for (int i = 0; i != 6; ++i)
            timeouts.push_back(text(lock.score(ours(i))));
    }
    std::rotate(timeouts.begin(), timeouts.begin() + 6, timeouts.end());
    BOOST_TEST(line(timeouts) == "0 0 330000 0 630000 930000 0 0 330000 0 630000 930000");
}

BOOST_DATA_TEST_CASE(tickets_are_kept, each_place(), where)
{
    fair_calls lock{where};
    lock.acquire(a);
    lock.acquire(b, 400);
    lock.acquire(c, 400);
    BOOST_TEST(lock.score(b, lock.at.tickets) == 400);
    // Many in a call, of whatever lock.
    strings keys, arguments;
    for (auto const& who : {b, c, d}) {
        for (auto const& key : lock.keys_of_call())
            keys.push_back(key);
        arguments.insert(arguments.end(), {who, lock.wait, "5000"});
    }
    keys.insert(keys.end(), {"x", "xq", "xt", "xk"});
    arguments.insert(arguments.end(), {b, lock.wait, "5000"});
    for (int i = 0; i != 2; ++i) {
        auto const got = lock.run_many(scripts::fair_keep, keys, arguments);
        BOOST_TEST_REQUIRE(got.size() == 4U);
        BOOST_TEST(refusal(got[0]) == 30'000);
        BOOST_TEST(refusal(got[1]) == 30'000);
        BOOST_TEST(is(got[2], 0));  // no place
        BOOST_TEST(is(got[3], 0));
        BOOST_TEST(lock.score(b, lock.at.tickets) == 5'000);
        BOOST_TEST(lock.score(c, lock.at.tickets) == 5'000);
        BOOST_TEST(lock.tickets() == line({b, c}));
        BOOST_TEST(!lock.exists("xk"));
    }
    lock.release(a);
    BOOST_TEST(refusal(lock.keep(b)) == 0);  // its turn
    BOOST_TEST(refusal(lock.keep(c)) == 5'000);
    BOOST_TEST(lock.queue() == line({b, c}));
}

// Redisson does not move the timeouts of those that wait, however long the holds before them are.
BOOST_DATA_TEST_CASE(a_waiter_of_redissons_that_listens_keeps_its_place, each_place(), where)
{
    for (bool const listens : {true, false}) {
        fair_calls lock{where};
        auto const j = java(57);
        lock.acquire(a);
        lock.java_acquire(j);
        if (listens)
            lock.listen_as({j});
        lock.time_out(j);
        lock.acquire(b);
        BOOST_TEST(lock.queue() == line(listens ? strings{j, b} : strings{b}));
        BOOST_TEST(lock.score(j) == (listens ? 300'000 : 0));
        lock.release(a);
        BOOST_TEST(is_granted(lock.acquire(b)) == !listens);
    }
}

BOOST_DATA_TEST_CASE(ours_and_redissons_stand_in_one_queue, each_place(), where)
{
    fair_calls lock{where};
    auto const j = java(57), k = java(58);
    lock.listen_as({a, k, b, c});
    BOOST_TEST(!lock.java_acquire(j).has_value());
    lock.acquire(a);
    lock.java_acquire(k);
    lock.acquire(b);
    lock.acquire(c);
    BOOST_TEST(lock.queue() == line({a, k, b, c}));
    BOOST_TEST(lock.score(c) == 1'230'000);
    lock.java_release(j);
    for (auto const& who : {a, k, b, c}) {
        BOOST_TEST(lock.heard() == lock.told(who));
        if (who == k) {
            BOOST_TEST(refusal(lock.acquire(b)) > 0);
            BOOST_TEST(!lock.java_acquire(k).has_value());
            lock.java_release(k);
        } else {
            BOOST_TEST(lock.java_acquire(k).has_value());  // and enqueues itself again, in the end
            BOOST_TEST(is_granted(lock.acquire(who)));
            BOOST_TEST((who == c || lock.score(c) == (who == a ? 930'000 : 330'000)));
            lock.release(who);
        }
    }
}

namespace {

/// What the queue should be, told by the rules alone.
struct fair_model {
    std::deque<std::string> queue;
    std::set<std::string> dead;
    std::string holder;

    bool is_queued(std::string const& who) const
    {
        return std::ranges::find(queue, who) != queue.end();
    }
    void purge(std::string const& asker = {})
    {
        for (; !queue.empty() && dead.contains(queue.front()) && queue.front() != asker;
             queue.pop_front())
            dead.erase(queue.front());
    }
    bool acquire(std::string const& who)
    {
        if (holder.empty() && (queue.empty() || queue.front() == who))
            holder = who;
        if (holder == who)
            std::erase(queue, who);
        else if (!is_queued(who))
            queue.push_back(who);
        dead.erase(who);
        return holder == who;
    }
    void leave(std::string const& who)
    {
        std::erase(queue, who);
        dead.erase(who);
        if (holder == who)
            holder.clear();
        if (holder.empty())
            purge();
    }
};

}  // namespace

BOOST_DATA_TEST_CASE(steps_in_any_order_and_twice, each_place(), where)
{
    fair_calls lock{where};
    fair_model model;
    test::random_numbers dice;
    BOOST_TEST_CONTEXT("seed " << dice.seed())
    {
        for (int i = 0; i != 1'500; ++i) {
            bool const by_java = dice.one_in(4);
            auto const who = by_java ? java(dice.below(2)) : ours(dice.below(6));
            bool const holds = model.holder == who, queued = model.is_queued(who);
            auto const op = dice.below(8);
            if (by_java) {
                if (holds) {
                    lock.java_release(who);
                    model.holder.clear();
                } else {
                    bool const granted = model.acquire(who);
                    BOOST_TEST(!lock.java_acquire(who).has_value() == granted);
                }
            } else if (op < 4 && !holds) {
                for (int n = 1 + dice.below(2); n != 0; --n) {
                    model.purge(who);
                    bool const granted = model.acquire(who);
                    BOOST_TEST(is_granted(lock.acquire(who)) == granted);
                }
            } else if (op < 6 && (holds || op == 5)) {
                for (int n = 1 + dice.below(2); n != 0; --n) {
                    auto const had = decide::read_release(lock.release(who)).what;
                    bool const is_released = had == decide::release_answer::kind::released;
                    BOOST_TEST(is_released == (model.holder == who));
                    model.leave(who);
                }
            } else if (op == 6) {
                lock.die(who);
                if (queued)
                    model.dead.insert(who);
            } else if (op == 7) {
                BOOST_TEST(is_granted(lock.keep(who)) == !queued);
                model.dead.erase(who);
            }
            BOOST_TEST_REQUIRE(lock.queue() == line(model.queue));
            BOOST_TEST_REQUIRE(lock.holder() == model.holder);
            std::set<std::string> all{model.queue.begin(), model.queue.end()};
            BOOST_TEST_REQUIRE(line(lock.members(lock.at.timeouts)) == line(all));
            std::erase_if(all, [](auto const& w) { return w == java(0) || w == java(1); });
            BOOST_TEST_REQUIRE(line(lock.members(lock.at.tickets)) == line(all));
        }
    }
}

BOOST_DATA_TEST_CASE(fair_tokens, each_place(), where)
{
    fair_calls lock{where};
    auto keys = lock.keys_of_call();
    keys.push_back("counter");
    auto const acquire = [&](std::string const& who) {
        auto arguments = lock.arguments(who, "30000", 5'000);
        arguments.front() = "clock";
        return lock.run(scripts::fair_acquire, keys, arguments);
    };
    BOOST_TEST(is(acquire(a), lock.begin));
    BOOST_TEST(lock.get("counter") == text(lock.begin));
    BOOST_TEST(refusal(acquire(b)) == 30'000);  // takes no token
    BOOST_TEST(is(acquire(a), lock.begin + 1));
    lock.release(a);
    BOOST_TEST(is(acquire(b), lock.begin + 2));
    lock.release(b);
    lock.ask("SET", "counter", "text");
    BOOST_TEST(is_error(acquire(a)));
    BOOST_TEST(lock.keys() == "counter");
}

BOOST_DATA_TEST_CASE(depth_and_lease_by_the_plain_scripts, each_place(), where)
{
    fair_calls lock{where};
    auto const extend = [&](std::string const& depth) {
        return lock.run(scripts::extend, {lock.name}, {a, depth, "60000"});
    };
    lock.acquire(a);
    lock.acquire(b);
    for (int i = 0; i != 2; ++i) {
        BOOST_TEST(is(extend("2"), 1));
        BOOST_TEST(line(lock.texts("HGETALL", lock.name)) == line({a, "2"}));
        BOOST_TEST(lock.pttl(lock.name) == 60'000);
    }
    BOOST_TEST(is(lock.run(scripts::renew, {lock.name}, {a, "30000"}), 1));
    BOOST_TEST(is(lock.run(scripts::renew, {lock.name}, {b, "30000"}), 0));
    // A release takes all of it, whatever the depth.
    BOOST_TEST(is_granted(lock.release(a)));
    BOOST_TEST(is(extend("1"), 0));
    BOOST_TEST(!lock.exists(lock.name));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::simulation
