// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What the scripts of fair locks make of waiters that are dead, and of keys that are lost.
#include "integration/script_calls.hpp"
#include "support/patience.hpp"

namespace colock::test {

namespace {}  // namespace

BOOST_AUTO_TEST_SUITE(fair_scripts_dead)

std::string const a = ours(1), b = ours(2), c = ours(3), d = ours(4);

BOOST_DATA_TEST_CASE(the_dead_delay_by_one_life_whatever_their_number, each_server(), kind)
{
    fair_lock_calls lock{kind};
    lock.acquire(a);
    for (int i = 100; i != 300; ++i)
        lock.acquire(ours(i), 300);
    lock.acquire(b);
    lock.acquire(c);
    stopwatch const watch;
    lock.release(a);
    listener all{lock.server};
    while (lock.queue() != line({b, c}) && watch.ms() < 2'000) {
        auto const wait = refusal(lock.acquire(c));
        BOOST_TEST_REQUIRE(wait > 0);
        if (lock.queue() != line({b, c}))
            std::this_thread::sleep_for(milliseconds{wait});
    }
    BOOST_TEST(watch.ms() <= within(350));
    BOOST_TEST(lock.tickets() == line({b, c}));
    // It is not the asker's turn but another's, who is told.
    BOOST_TEST(all.heard().ends_with(decide::fair_channel(lock.name, b) + " 0"));
    BOOST_TEST(is_granted(lock.acquire(b)));
}

BOOST_DATA_TEST_CASE(a_release_passes_the_dead, each_server(), kind)
{
    fair_lock_calls lock{kind};
    listener all{lock.server};
    for (bool const by_force : {false, true}) {
        lock.acquire(a);
        for (auto const& who : {b, c, d})
            lock.acquire(who);
        lock.die(b);
        lock.die(c);
        if (by_force)
            lock.force();
        else
            lock.release(a);
        BOOST_TEST(all.heard() == line({decide::fair_channel(lock.name, d) + " 0"}));
        BOOST_TEST(lock.queue() == line({d}));
        BOOST_TEST(lock.tickets() == line({d}));
        BOOST_TEST(is_granted(lock.acquire(d)));
        // All dead: the last to release leaves nothing behind.
        lock.acquire(b);
        lock.die(b);
        BOOST_TEST(lock.release(d).number == 0);
        BOOST_TEST(all.heard().empty());
        BOOST_TEST(lock.keys().empty());
    }
}

BOOST_DATA_TEST_CASE(one_that_seemed_dead_comes_again, each_server(), kind)
{
    fair_lock_calls lock{kind};
    lock.acquire(a);
    lock.acquire(b);
    lock.acquire(c);
    lock.die(b);
    BOOST_TEST(near(refusal(lock.keep(b)), 30'000));  // nobody has noticed
    BOOST_TEST(lock.queue() == line({b, c}));
    lock.die(b);
    lock.acquire(c);
    BOOST_TEST(lock.queue() == line({c}));
    BOOST_TEST(is_granted(lock.keep(b)));  // no place
    lock.acquire(b);
    BOOST_TEST(lock.queue() == line({c, b}));
    lock.die(c);  // but who asks is alive
    lock.acquire(c);
    BOOST_TEST(lock.queue() == line({c, b}));
    BOOST_TEST(lock.tickets() == line({b, c}));
    lock.die(c);
    lock.die(b);
    lock.acquire(b);
    BOOST_TEST(lock.queue() == line({b}));
    BOOST_TEST(lock.tickets() == line({b}));
}

BOOST_DATA_TEST_CASE(those_behind_the_dead_come_sooner, each_server(), kind)
{
    auto const j = java(57), k = java(58);
    for (int how = 0; how != 3; ++how) {
        fair_lock_calls lock{kind};
        lock.acquire(a);
        lock.acquire(b);
        lock.acquire(c);
        lock.java_acquire(j);
        lock.acquire(d);
        lock.java_acquire(k);
        BOOST_TEST(near(lock.score(k), 1'530'000));
        lock.die(b);
        lock.die(c);
        if (how == 0)
            lock.acquire(d);
        else if (how == 1)
            lock.release(a);
        else
            lock.force();
        BOOST_TEST(lock.queue() == line({j, d, k}));
        BOOST_TEST(near(lock.score(j), 330'000));
        BOOST_TEST(near(lock.score(d), 630'000));
        BOOST_TEST(near(lock.score(k), 930'000));
        // Redisson's dead take nothing off.
        lock.server.ask("ZADD", lock.at.timeouts, text(lock.now() - 1), j);
        lock.acquire(ours(5), 0);
        BOOST_TEST(lock.queue() == line({d, k}));
        BOOST_TEST(near(lock.score(k), 930'000));
    }
}

BOOST_DATA_TEST_CASE(who_is_dead_only_since_those_in_front_went, each_server(), kind)
{
    fair_lock_calls lock{kind};
    lock.acquire(a);
    lock.acquire(b);
    lock.java_acquire(java(57));
    lock.acquire(c);
    lock.server.ask("ZADD", lock.at.timeouts, text(lock.now() + 299'000), java(57));
    lock.die(b);
    lock.acquire(c);
    BOOST_TEST(lock.queue() == line({c}));
    BOOST_TEST(near(lock.score(c), 630'000));
}

// Nobody may come after the last one who releases.
BOOST_DATA_TEST_CASE(a_release_says_that_the_next_one_may_be_dead, each_server(), kind)
{
    fair_lock_calls lock{kind};
    lock.acquire(a);
    lock.acquire(b);
    BOOST_TEST(lock.release(a).number == -2);
    BOOST_TEST(lock.release(a).number == -3);  // also if it had nothing
    BOOST_TEST(lock.queue() == line({b}));
    lock.die(b);
    BOOST_TEST(is_nil(lock.release(a)));
    BOOST_TEST(lock.keys().empty());
    lock.acquire(a);
    lock.java_acquire(java(57));
    BOOST_TEST(lock.release(a).number == 0);  // who would know when he is dead?
}

BOOST_DATA_TEST_CASE(what_redisson_takes_out_is_forgotten_in_a_day, each_server(), kind)
{
    fair_lock_calls lock{kind};
    lock.acquire(a);
    lock.acquire(b);
    lock.java_release(a);
    lock.server.ask("ZADD", lock.at.timeouts, text(lock.now() - 1), b);
    lock.java_acquire(java(57));
    lock.java_release(java(57));
    BOOST_TEST(lock.keys() == line({lock.at.tickets}));
    BOOST_TEST(near(lock.pttl(lock.at.tickets), 86'400'000));
}

// Redisson begins the queue again, and leaves our timeouts as they are.
BOOST_DATA_TEST_CASE(a_ticket_whose_queue_was_lost_gets_a_new_place, each_server(), kind)
{
    fair_lock_calls lock{kind};
    lock.acquire(a);
    lock.acquire(b);
    lock.server.ask("DEL", lock.at.queue);
    lock.java_acquire(java(57));
    lock.java_acquire(java(58));
    BOOST_TEST(is_granted(lock.keep(b)));  // no place
    lock.acquire(b);
    BOOST_TEST(lock.queue() == line({java(57), java(58), b}));
    BOOST_TEST(near(refusal(lock.keep(b)), 30'000));
}

BOOST_DATA_TEST_CASE(tickets_that_were_lost_end_as_before, each_server(), kind)
{
    fair_lock_calls lock{kind};
    lock.acquire(a);
    lock.acquire(b);
    for (bool const keeps : {true, false}) {
        lock.server.ask("DEL", lock.at.tickets);
        keeps ? lock.keep(b) : lock.acquire(b);
        BOOST_TEST(lock.tickets() == line({b}));
        BOOST_TEST(near(lock.pttl(lock.at.tickets), 86'400'000));
    }
}

// Each acquire of Redisson's takes 300 s off; a ticket of ours that lives is not counted as dead.
BOOST_DATA_TEST_CASE(a_long_wait_is_no_death, each_server(), kind)
{
    fair_lock_calls lock{kind};
    auto const j = java(57);
    lock.java_acquire(j);
    lock.acquire(a);
    lock.acquire(b);
    auto const aged = [&] {  // as after seven minutes behind a lock that was renewed
        for (auto const& who : {a, b})
            lock.server.ask("ZINCRBY", lock.at.timeouts, "-420000", who);
    };
    aged();
    BOOST_TEST(lock.score(a) < 0);
    // Ours don't judge by that.
    lock.acquire(b);
    BOOST_TEST(lock.queue() == line({a, b}));
    // Redisson's would; keeping the tickets makes good for it.
    for (auto const& who : {b, a, b})
        BOOST_TEST(near(refusal(lock.keep(who)), 30'000));
    BOOST_TEST(near(lock.score(a), 300'000));
    BOOST_TEST(near(lock.score(b), 600'000));
    lock.java_release(j);
    BOOST_TEST(lock.queue() == line({a, b}));
    BOOST_TEST(is_granted(lock.acquire(a)));
    BOOST_TEST(near(lock.score(b), 300'000));
    // What is higher stays.
    lock.server.ask("ZINCRBY", lock.at.timeouts, "700000", b);
    lock.keep(b);
    BOOST_TEST(near(lock.score(b), 1'000'000));
}

BOOST_DATA_TEST_CASE(redissons_dead_go_by_their_time, each_server(), kind)
{
    fair_lock_calls lock{kind};
    listener all{lock.server};
    auto const j = java(57), k = java(58);
    lock.acquire(a);
    lock.java_acquire(j);
    lock.java_acquire(k);
    lock.acquire(b);
    lock.release(a);
    all.heard();
    BOOST_TEST(near(refusal(lock.acquire(b)), 330'000));
    lock.server.ask("ZADD", lock.at.timeouts, text(lock.now() - 1), j);
    BOOST_TEST(refusal(lock.acquire(b)) > 0);
    BOOST_TEST(all.heard() == line({decide::fair_channel(lock.name, k) + " 0"}));
    // One without a time is given one.
    lock.server.ask("ZREM", lock.at.timeouts, k);
    BOOST_TEST(near(refusal(lock.acquire(b)), 300'000));
    BOOST_TEST(near(lock.score(k), 300'000));
    lock.server.ask("ZADD", lock.at.timeouts, text(lock.now() - 1), k);
    BOOST_TEST(is_granted(lock.acquire(b)));
    BOOST_TEST(lock.queue().empty());
}

BOOST_DATA_TEST_CASE(a_lost_key_costs_the_place_and_no_more, each_server(), kind)
{
    for (int lost = 0; lost != 3; ++lost) {
        fair_lock_calls lock{kind};
        lock.acquire(a);
        lock.acquire(b);
        lock.acquire(c);
        lock.server.ask(
            "DEL",
            lost == 0       ? lock.at.queue
                : lost == 1 ? lock.at.timeouts
                            : lock.at.tickets
        );
        for (auto const& who : {c, b}) {
            lock.keep(who);
            lock.acquire(who);
        }
        lock.release(a);
        int granted = 0;
        for (int i = 0; i != 2; ++i)
            for (auto const& who : {b, c})
                if (is_granted(lock.acquire(who))) {
                    ++granted;
                    BOOST_TEST(lock.holder() == who);
                    lock.release(who);
                }
        BOOST_TEST(granted >= 2, "without key " << lost);
        lock.release(b);
        lock.release(c);
        BOOST_TEST(lock.keys().empty(), "without key " << lost);
    }
}

BOOST_DATA_TEST_CASE(a_lost_key_keeps_nobody_in_the_queue, each_server(), kind)
{
    for (bool const knows_tickets : {false, true}) {
        fair_lock_calls lock{kind};
        lock.acquire(a);
        lock.acquire(b);
        lock.acquire(c);
        lock.server.ask("DEL", knows_tickets ? lock.at.timeouts : lock.at.tickets);
        lock.release(b);
        BOOST_TEST(lock.queue() == line({c}));
    }
}

BOOST_DATA_TEST_CASE(a_lost_queue_is_begun_anew, each_server(), kind)
{
    fair_lock_calls lock{kind};
    lock.acquire(a);
    lock.acquire(b);
    lock.acquire(c);
    lock.server.ask("DEL", lock.at.queue);
    lock.acquire(b);
    BOOST_TEST(is_granted(lock.keep(c)));  // zero: no place
    lock.acquire(c);
    BOOST_TEST(lock.queue() == line({b, c}));
    BOOST_TEST(near(lock.score(b), 330'000));
    BOOST_TEST(near(lock.score(c), 630'000));
}

BOOST_DATA_TEST_CASE(keys_of_another_type, each_server(), kind)
{
    fair_lock_calls lock{kind};
    lock.server.ask("SET", lock.name, "text");
    for (int i = 0; i != 2; ++i) {
        BOOST_TEST(is_wrong_type(lock.acquire(a)));
        BOOST_TEST(is_wrong_type(lock.release(a)));
        BOOST_TEST(is_wrong_type(lock.force()));
        BOOST_TEST(lock.keys() == line({lock.name}));
    }
    for (auto const& key : {lock.at.queue, lock.at.timeouts, lock.at.tickets}) {
        lock.server.ask("FLUSHALL");
        lock.acquire(a);
        lock.server.ask("SET", key, "text");
        BOOST_TEST(is_wrong_type(lock.acquire(b)));
        BOOST_TEST(lock.keys() == line(std::set{key, lock.name}));
        // A release is one all the same.
        BOOST_TEST(is_granted(lock.release(a)));
        BOOST_TEST(!exists(lock.server, lock.name));
        BOOST_TEST(is_nil(lock.release(a)));
        lock.keep(a);
    }
    // With others in the same call.
    lock.server.ask("FLUSHALL");
    lock.server.ask("SET", lock.name, "text");
    strings keys = lock.keys_of_call();
    for (auto const& key : lock.keys_of_call("other"))
        keys.push_back(key);
    auto const got = lock.run(
        scripts::fair_acquire,
        keys,
        {"", b, "30000", "1", "x", "300000", "5000", b, "20000", "1", "x", "300000", "5000"}
    );
    BOOST_TEST_REQUIRE(got.size() == 2U);
    BOOST_TEST(is_wrong_type(got[0]));
    BOOST_TEST(is_granted(got[1]));
}

BOOST_DATA_TEST_CASE(full_memory_takes_nothing, each_server(), kind)
{
    fair_lock_calls lock{kind};
    lock.without_memory([&] {
        BOOST_TEST(is_error(lock.acquire(a)));
        BOOST_TEST(lock.keys().empty());
    });
    lock.acquire(a);
    lock.acquire(b);
    lock.acquire(c);
    auto const queue = lock.queue(), tickets = lock.tickets();
    lock.without_memory([&] {
        BOOST_TEST(is_error(lock.acquire(d)));
        BOOST_TEST(lock.queue() == queue);
        BOOST_TEST(lock.tickets() == tickets);
        BOOST_TEST(lock.score(d) == 0);
        // Those that wait keep their places.
        BOOST_TEST(near(refusal(lock.keep(b)), 30'000));
        BOOST_TEST(near(refusal(lock.acquire(c)), 30'000));
        BOOST_TEST(lock.queue() == queue);
        BOOST_TEST(lock.tickets() == tickets);
        BOOST_TEST(is_nil(lock.release(b)));
        BOOST_TEST(is_granted(lock.release(a)));
        BOOST_TEST(lock.queue() == c);
        BOOST_TEST(is_error(lock.acquire(c)));
        BOOST_TEST(lock.queue() == c);
        BOOST_TEST(lock.tickets() == c);
    });
    BOOST_TEST(is_granted(lock.acquire(c)));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
