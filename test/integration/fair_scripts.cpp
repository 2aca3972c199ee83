// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// The scripts of fair locks, beside what Redisson's do to the same keys.
#include "integration/script_calls.hpp"
#include "support/seed.hpp"

#include <deque>
#include <set>

namespace colock::test {

namespace {}  // namespace

BOOST_AUTO_TEST_SUITE(fair_scripts)

std::string const a = ours(1), b = ours(2), c = ours(3), d = ours(4);

BOOST_DATA_TEST_CASE(a_free_lock_is_redissons_hash, each_server(), kind)
{
    fair_lock_calls lock{kind};
    for (int i = 0; i != 2; ++i) {  // twice is once
        BOOST_TEST(is_granted(lock.acquire(a)));
        BOOST_TEST(line(lock.texts("HGETALL", lock.name)) == line({a, "1"}));
        BOOST_TEST(near(lock.pttl(lock.name), 30'000));
        BOOST_TEST(lock.keys() == line({lock.name}));
    }
    BOOST_TEST(lock.release(a).number == 0);
    BOOST_TEST(lock.keys().empty());
    BOOST_TEST(is_nil(lock.release(a)));
}

BOOST_DATA_TEST_CASE(without_a_lease_no_lock_stays, each_server(), kind)
{
    fair_lock_calls lock{kind};
    lock.server.ask("ACL", "SETUSER", "default", "-pexpire");
    BOOST_TEST(is_error(lock.acquire(a)));
    lock.server.ask("ACL", "SETUSER", "default", "+pexpire");
    BOOST_TEST(lock.keys().empty());
}

BOOST_DATA_TEST_CASE(scores_are_redissons, each_server(), kind)
{
    for (bool const by_java : {false, true}) {
        fair_lock_calls lock{kind};
        lock.acquire(a);
        for (int i = 0; i != 2; ++i) {
            if (by_java)
                lock.java_acquire(b);
            else
                BOOST_TEST(near(refusal(lock.acquire(b)), 30'000));
            BOOST_TEST(near(refusal(lock.acquire(c)), 30'000));
            BOOST_TEST(lock.queue() == line({b, c}));
            BOOST_TEST(near(lock.score(b), 330'000));
            BOOST_TEST(near(lock.score(c), 630'000));
        }
        BOOST_TEST(lock.tickets() == line(by_java ? strings{c} : strings{b, c}));
        BOOST_TEST(lock.pttl(lock.at.queue) == -1);
        BOOST_TEST(lock.pttl(lock.at.timeouts) == -1);
        lock.release(a);
        for (int i = 0; i != 2; ++i) {
            BOOST_TEST(is_granted(lock.acquire(b)));
            BOOST_TEST(lock.holder() == b);
            BOOST_TEST(lock.queue() == line({c}));
            BOOST_TEST(near(lock.score(c), 330'000));
            BOOST_TEST(lock.score(b) == 0);
        }
        lock.release(b);
        BOOST_TEST(is_granted(lock.acquire(c)));
        lock.release(c);
        BOOST_TEST(lock.keys().empty());
    }
}

BOOST_DATA_TEST_CASE(a_release_tells_the_first_alone, each_server(), kind)
{
    for (auto const* name : {"order:42", "{tag}:order"}) {
        fair_lock_calls lock{kind, name};
        listener all{lock.server};
        auto const to = [&](std::string const& who) {
            return decide::fair_channel(name, who) + " 0";
        };
        lock.acquire(a);
        lock.acquire(b);
        lock.acquire(c);
        BOOST_TEST(lock.release(a).number == 1);  // the listener
        BOOST_TEST(all.heard() == to(b));
        // Nobody passes the first, who is asked to come once more when somebody leaves.
        auto const wait = refusal(lock.acquire(c));
        BOOST_TEST(near(wait, 5'000));
        BOOST_TEST(near(refusal(lock.acquire(d, 0)), 5'000));
        BOOST_TEST(lock.queue() == line({b, c}));
        BOOST_TEST(all.heard().empty());
        BOOST_TEST(is_nil(lock.release(b)));
        BOOST_TEST(all.heard() == to(c));
        BOOST_TEST(near(lock.score(c), 330'000));  // as Redisson's give-up has it
        BOOST_TEST(is_granted(lock.acquire(c)));
        lock.acquire(d);
        for (int const held : {1, 0})
            BOOST_TEST(lock.force().number == held);
        BOOST_TEST(all.heard() == to(d));
        BOOST_TEST(is_nil(lock.release(c)));  // gone
        BOOST_TEST(is_nil(lock.release(d)));
        BOOST_TEST(lock.keys().empty());
    }
}

BOOST_DATA_TEST_CASE(who_asks_once_is_not_queued, each_server(), kind)
{
    fair_lock_calls lock{kind};
    lock.acquire(a);
    BOOST_TEST(near(refusal(lock.acquire(b, 0)), 30'000));
    BOOST_TEST(lock.keys() == line({lock.name}));
    lock.server.ask("PERSIST", lock.name);
    BOOST_TEST(refusal(lock.acquire(b, 0)) == -1);
    lock.release(a);
    BOOST_TEST(is_granted(lock.acquire(b, 0)));
}

BOOST_DATA_TEST_CASE(a_wait_ends_once, each_server(), kind)
{
    fair_lock_calls lock{kind};
    lock.acquire(a);
    for (auto const& who : {b, c, d})
        lock.acquire(who);
    for (int i = 0; i != 2; ++i) {
        BOOST_TEST(is_nil(lock.release(b)));
        BOOST_TEST(lock.queue() == line({c, d}));
        BOOST_TEST(lock.tickets() == line({c, d}));
        BOOST_TEST(near(lock.score(c), 330'000));
        BOOST_TEST(near(lock.score(d), 630'000));
    }
    BOOST_TEST(lock.keep(b).number == 0);  // a late one brings nobody back
    BOOST_TEST(lock.queue() == line({c, d}));
    BOOST_TEST(lock.holder() == a);
}

BOOST_DATA_TEST_CASE(tickets_are_kept, each_server(), kind)
{
    fair_lock_calls lock{kind};
    lock.acquire(a);
    lock.acquire(b, 400);
    lock.acquire(c, 400);
    auto const life = [&](std::string const& who) {
        return std::stoll(lock.server.ask("ZSCORE", lock.at.tickets, who).text) - lock.now();
    };
    BOOST_TEST(near(life(b), 400));
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
        auto const got = lock.run(scripts::fair_keep, keys, arguments);
        BOOST_TEST_REQUIRE(got.size() == 4U);
        BOOST_TEST(near(refusal(got[0]), 30'000));
        BOOST_TEST(near(refusal(got[1]), 30'000));
        BOOST_TEST(is_granted(got[2]));  // zero: no place
        BOOST_TEST(is_granted(got[3]));
        BOOST_TEST(near(life(b), 5'000));
        BOOST_TEST(near(life(c), 5'000));
        BOOST_TEST(lock.tickets() == line({b, c}));
        BOOST_TEST(!exists(lock.server, "xk"));
    }
    lock.release(a);
    BOOST_TEST(refusal(lock.keep(b)) == 0);  // its turn
    BOOST_TEST(near(refusal(lock.keep(c)), 5'000));
    BOOST_TEST(lock.queue() == line({b, c}));
}

// Redisson does not move the timeouts of those that wait, however long the holds before them are.
BOOST_DATA_TEST_CASE(a_waiter_of_redissons_that_listens_keeps_its_place, each_server(), kind)
{
    for (bool const listens : {true, false}) {
        fair_lock_calls lock{kind};
        auto const j = java(57);
        redis_cli own{lock.server.unix_socket()};
        lock.acquire(a);
        lock.java_acquire(j);
        if (listens)
            own("SUBSCRIBE", decide::fair_channel(lock.name, j));
        lock.server.ask("ZADD", lock.at.timeouts, text(lock.now() - 1), j);
        lock.acquire(b);
        BOOST_TEST(lock.queue() == line(listens ? strings{j, b} : strings{b}));
        if (listens)
            BOOST_TEST(near(lock.score(j), 300'000));
        lock.release(a);
        BOOST_TEST(is_granted(lock.acquire(b)) == !listens);
    }
}

BOOST_DATA_TEST_CASE(ours_and_redissons_stand_in_one_queue, each_server(), kind)
{
    fair_lock_calls lock{kind};
    listener all{lock.server};
    auto const j = java(57), k = java(58);
    BOOST_TEST(!lock.java_acquire(j).has_value());
    lock.acquire(a);
    lock.java_acquire(k);
    lock.acquire(b);
    lock.acquire(c);
    BOOST_TEST(lock.queue() == line({a, k, b, c}));
    BOOST_TEST(near(lock.score(c), 1'230'000));
    strings order;
    lock.java_release(j);
    for (auto const& who : {a, k, b, c}) {
        BOOST_TEST(all.heard() == line({decide::fair_channel(lock.name, who) + " 0"}));
        if (who == k) {
            BOOST_TEST(refusal(lock.acquire(b)) > 0);
            BOOST_TEST(!lock.java_acquire(k).has_value());
            lock.java_release(k);
        } else {
            BOOST_TEST(lock.java_acquire(k).has_value());  // and enqueues itself again, in the end
            BOOST_TEST(is_granted(lock.acquire(who)));
            BOOST_TEST((who == c || near(lock.score(c), who == a ? 930'000 : 330'000)));
            lock.release(who);
        }
    }
}

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

BOOST_DATA_TEST_CASE(steps_in_any_order_and_twice, each_server(), kind)
{
    fair_lock_calls lock{kind};
    fair_model model;
    random_numbers dice;
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

BOOST_DATA_TEST_CASE(many_locks_in_a_call, each_server(), kind)
{
    fair_lock_calls lock{kind};
    lock.acquire(a);
    strings keys = lock.keys_of_call();
    for (auto const& key : lock.keys_of_call("other"))
        keys.push_back(key);
    auto got = lock.run(
        scripts::fair_acquire,
        keys,
        {"",
         b,
         "30000",
         "1",
         lock.channel(),
         "300000",
         "5000",
         b,
         "20000",
         "1",
         decide::lock_channel("other"),
         "300000",
         "5000"}
    );
    BOOST_TEST_REQUIRE(got.size() == 2U);
    BOOST_TEST(near(refusal(got[0]), 30'000));
    BOOST_TEST(is_granted(got[1]));
    BOOST_TEST(near(lock.pttl("other"), 20'000));
    got = lock.run(
        scripts::fair_release,
        keys,
        {b, lock.channel(), "300000", b, decide::lock_channel("other"), "300000"}
    );
    BOOST_TEST_REQUIRE(got.size() == 2U);
    BOOST_TEST(is_nil(got[0]));
    BOOST_TEST(got[1].number == 0);
    BOOST_TEST(lock.keys() == line({lock.name}));
}

BOOST_DATA_TEST_CASE(fair_tokens, each_server(), kind)
{
    fair_lock_calls lock{kind};
    auto keys = lock.keys_of_call();
    keys.push_back("counter");
    auto const acquire = [&](std::string const& who, std::string const& floor) {
        return lock
            .run(
                scripts::fair_acquire,
                keys,
                {floor, who, "30000", "1", lock.channel(), "300000", "5000"}
            )
            .at(0);
    };
    auto const floor = 1'763'700'000'000'000;
    auto const first = acquire(a, text(floor));
    BOOST_TEST(first.number > floor);
    BOOST_TEST(lock.server.ask("GET", "counter").text == text(first.number));
    BOOST_TEST(refusal(acquire(b, text(floor))) > 0);  // takes no token
    BOOST_TEST(acquire(a, text(floor)).number == first.number + 1);
    lock.release(a);
    BOOST_TEST(acquire(b, text(floor)).number == first.number + 2);
    lock.release(b);
    lock.server.ask("SET", "counter", "text");
    auto const failed = acquire(a, text(floor));
    BOOST_TEST(is_error(failed));
    BOOST_TEST(lock.keys() == line({"counter"}));
}

BOOST_DATA_TEST_CASE(depth_and_lease_by_the_plain_scripts, each_server(), kind)
{
    fair_lock_calls lock{kind};
    lock.acquire(a);
    lock.acquire(b);
    for (int i = 0; i != 2; ++i) {
        BOOST_TEST(lock.run(scripts::extend, {lock.name}, {a, "2", "60000"}).at(0).number == 1);
        BOOST_TEST(line(lock.texts("HVALS", lock.name)) == line({"2"}));
        BOOST_TEST(near(lock.pttl(lock.name), 60'000));
    }
    BOOST_TEST(lock.run(scripts::renew, {lock.name}, {a, "30000"}).at(0).number == 1);
    BOOST_TEST(lock.run(scripts::renew, {lock.name}, {b, "30000"}).at(0).number == 0);
    // A release takes all of it, whatever the depth.
    BOOST_TEST(is_granted(lock.release(a)));
    BOOST_TEST(lock.run(scripts::extend, {lock.name}, {a, "1", "60000"}).at(0).number == 0);
    BOOST_TEST(!exists(lock.server, lock.name));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
