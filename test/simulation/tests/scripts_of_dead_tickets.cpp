// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What the scripts of fair locks make of waiters that are dead, and of keys that are lost.
#include "simulation/tests/fair_calls.hpp"

namespace colock::simulation {

BOOST_AUTO_TEST_SUITE(scripts_of_dead_tickets)

std::string const a = ours(1), b = ours(2), c = ours(3), d = ours(4);
std::string const j = java(57), k = java(58);

BOOST_DATA_TEST_CASE(the_dead_delay_by_one_life_whatever_their_number, each_place(), where)
{
    fair_calls lock{where};
    lock.listen_as({a, b, c});
    lock.acquire(a);
    for (int i = 100; i != 300; ++i)
        lock.acquire(ours(i), 300);
    lock.acquire(b);
    lock.acquire(c);
    lock.release(a);
    lock.pass(299);
    BOOST_TEST(refusal(lock.acquire(c)) == 1);
    BOOST_TEST(lock.queue() != line({b, c}));
    lock.pass(1);
    BOOST_TEST(refusal(lock.acquire(c)) == 4'700);
    BOOST_TEST(lock.queue() == line({b, c}));
    BOOST_TEST(lock.tickets() == line({b, c}));
    // It is not the asker's turn but another's, who is told.
    BOOST_TEST(lock.heard() == lock.told(b));
    BOOST_TEST(is_granted(lock.acquire(b)));
}

BOOST_DATA_TEST_CASE(a_ticket_that_is_kept_is_alive, each_place(), where)
{
    fair_calls lock{where};
    lock.acquire(a);
    lock.acquire(b);
    lock.acquire(c);
    lock.release(a);
    for (int i = 0; i != 10; ++i) {
        lock.pass(2'000);
        BOOST_TEST(refusal(lock.keep(b)) == 0);
        BOOST_TEST(refusal(lock.acquire(c)) == 5'000);
    }
    lock.pass(4'999);
    BOOST_TEST(!is_granted(lock.acquire(c)));  // `b` is alive for a last millisecond
    BOOST_TEST(lock.queue() == line({b, c}));
    lock.pass(1);
    BOOST_TEST(is_granted(lock.acquire(c)));
    BOOST_TEST(lock.queue().empty());
}

BOOST_DATA_TEST_CASE(a_release_passes_the_dead, each_place(), where)
{
    fair_calls lock{where};
    lock.listen_as({a, b, c, d});
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
        BOOST_TEST(lock.heard() == lock.told(d));
        BOOST_TEST(lock.queue() == d);
        BOOST_TEST(lock.tickets() == d);
        BOOST_TEST(is_granted(lock.acquire(d)));
        // All dead: the last to release leaves nothing behind.
        lock.acquire(b);
        lock.die(b);
        BOOST_TEST(is(lock.release(d), 0));
        BOOST_TEST(lock.heard().empty());
        BOOST_TEST(lock.keys().empty());
    }
}

BOOST_DATA_TEST_CASE(one_that_seemed_dead_comes_again, each_place(), where)
{
    fair_calls lock{where};
    lock.acquire(a);
    lock.acquire(b);
    lock.acquire(c);
    lock.die(b);
    BOOST_TEST(refusal(lock.keep(b)) == 30'000);  // nobody has noticed
    BOOST_TEST(lock.queue() == line({b, c}));
    lock.die(b);
    lock.acquire(c);
    BOOST_TEST(lock.queue() == c);
    BOOST_TEST(is(lock.keep(b), 0));  // no place
    lock.acquire(b);
    BOOST_TEST(lock.queue() == line({c, b}));
    lock.die(c);  // but the one that asks is alive
    lock.acquire(c);
    BOOST_TEST(lock.queue() == line({c, b}));
    BOOST_TEST(lock.tickets() == line({b, c}));
    lock.die(c);
    lock.die(b);
    lock.acquire(b);
    BOOST_TEST(lock.queue() == b);
    BOOST_TEST(lock.tickets() == b);
}

BOOST_DATA_TEST_CASE(those_behind_the_dead_come_sooner, each_place(), where)
{
    for (int how = 0; how != 3; ++how) {
        fair_calls lock{where};
        lock.acquire(a);
        lock.acquire(b);
        lock.acquire(c);
        lock.java_acquire(j);
        lock.acquire(d);
        lock.java_acquire(k);
        BOOST_TEST(lock.score(k) == 1'530'000);
        lock.die(b);
        lock.die(c);
        if (how == 0)
            lock.acquire(d);
        else if (how == 1)
            lock.release(a);
        else
            lock.force();
        BOOST_TEST(lock.queue() == line({j, d, k}));
        BOOST_TEST(lock.score(j) == 330'000);
        BOOST_TEST(lock.score(d) == 630'000);
        BOOST_TEST(lock.score(k) == 930'000);
        // Redisson's dead take nothing off.
        lock.time_out(j);
        lock.acquire(ours(5), 0);
        BOOST_TEST(lock.queue() == line({d, k}));
        BOOST_TEST(lock.score(k) == 930'000);
    }
}

BOOST_DATA_TEST_CASE(one_that_is_dead_only_since_those_in_front_went, each_place(), where)
{
    fair_calls lock{where};
    lock.acquire(a);
    lock.acquire(b);
    lock.java_acquire(j);
    lock.acquire(c);
    lock.ask("ZADD", lock.at.timeouts, text(lock.now_ms() + 299'000), j);
    lock.die(b);
    lock.acquire(c);
    BOOST_TEST(lock.queue() == c);
    BOOST_TEST(lock.score(c) == 630'000);
}

// Nobody may come after the last one who releases.
BOOST_DATA_TEST_CASE(a_release_says_that_the_next_one_may_be_dead, each_place(), where)
{
    fair_calls lock{where};
    lock.acquire(a);
    lock.acquire(b);
    BOOST_TEST(is(lock.release(a), -2));
    BOOST_TEST(is(lock.release(a), -3));  // also if it had nothing
    BOOST_TEST(lock.queue() == b);
    lock.die(b);
    BOOST_TEST(is_gone(lock.release(a)));
    BOOST_TEST(lock.keys().empty());
    lock.acquire(a);
    lock.java_acquire(j);
    BOOST_TEST(is(lock.release(a), 0));  // nobody would know when it is dead
}

BOOST_DATA_TEST_CASE(what_redisson_takes_out_is_forgotten_in_a_day, each_place(), where)
{
    fair_calls lock{where};
    lock.acquire(a);
    lock.acquire(b);
    lock.java_release(a);
    lock.time_out(b);
    lock.java_acquire(j);
    lock.java_release(j);
    BOOST_TEST(lock.keys() == lock.at.tickets);
    BOOST_TEST(lock.pttl(lock.at.tickets) == 86'400'000);
    lock.acquire(a);
    lock.release(a);
    BOOST_TEST(lock.keys().empty());
}

// Redisson begins the queue again, and leaves our timeouts as they are.
BOOST_DATA_TEST_CASE(a_ticket_whose_queue_was_lost_gets_a_new_place, each_place(), where)
{
    fair_calls lock{where};
    lock.acquire(a);
    lock.acquire(b);
    lock.ask("DEL", lock.at.queue);
    lock.java_acquire(j);
    lock.java_acquire(k);
    BOOST_TEST(is(lock.keep(b), 0));  // no place
    lock.acquire(b);
    BOOST_TEST(lock.queue() == line({j, k, b}));
    BOOST_TEST(refusal(lock.keep(b)) == 30'000);
}

BOOST_DATA_TEST_CASE(tickets_that_were_lost_end_as_before, each_place(), where)
{
    fair_calls lock{where};
    lock.acquire(a);
    lock.acquire(b);
    for (bool const keeps : {true, false}) {
        lock.ask("DEL", lock.at.tickets);
        keeps ? lock.keep(b) : lock.acquire(b);
        BOOST_TEST(lock.tickets() == b);
        BOOST_TEST(lock.pttl(lock.at.tickets) == 86'400'000);
    }
}

// Each acquire of Redisson's takes 300 s off; a ticket of ours that lives is not counted as dead.
BOOST_DATA_TEST_CASE(a_long_wait_is_no_death, each_place(), where)
{
    fair_calls lock{where};
    lock.java_acquire(j);
    lock.acquire(a);
    lock.acquire(b);
    // As after seven minutes behind a lock that was renewed.
    for (auto const& who : {a, b})
        lock.ask("ZINCRBY", lock.at.timeouts, "-420000", who);
    BOOST_TEST(lock.score(a) == -90'000);
    // Ours don't judge by that.
    lock.acquire(b);
    BOOST_TEST(lock.queue() == line({a, b}));
    // Redisson's would; keeping the tickets makes good for it.
    for (auto const& who : {b, a, b})
        BOOST_TEST(refusal(lock.keep(who)) == 30'000);
    BOOST_TEST(lock.score(a) == 300'000);
    BOOST_TEST(lock.score(b) == 600'000);
    lock.java_release(j);
    BOOST_TEST(lock.queue() == line({a, b}));
    BOOST_TEST(is_granted(lock.acquire(a)));
    BOOST_TEST(lock.score(b) == 300'000);
    // What is higher stays.
    lock.ask("ZINCRBY", lock.at.timeouts, "700000", b);
    lock.keep(b);
    BOOST_TEST(lock.score(b) == 1'000'000);
}

BOOST_DATA_TEST_CASE(redissons_dead_go_by_their_time, each_place(), where)
{
    fair_calls lock{where};
    lock.acquire(a);
    lock.java_acquire(j);
    lock.java_acquire(k);
    lock.acquire(b);
    lock.release(a);
    BOOST_TEST(refusal(lock.acquire(b)) == 330'000);
    lock.listen_as({k});
    lock.time_out(j);
    BOOST_TEST(refusal(lock.acquire(b)) > 0);
    BOOST_TEST(lock.heard() == lock.told(k));
    lock.unlisten(decide::fair_channel(lock.name, k));
    // One without a time is given one.
    lock.ask("ZREM", lock.at.timeouts, k);
    BOOST_TEST(refusal(lock.acquire(b)) == 300'000);
    BOOST_TEST(lock.score(k) == 300'000);
    lock.time_out(k);
    BOOST_TEST(is_granted(lock.acquire(b)));
    BOOST_TEST(lock.queue().empty());
}

BOOST_DATA_TEST_CASE(a_lost_key_costs_the_place_and_no_more, each_place(), where)
{
    for (int lost = 0; lost != 3; ++lost) {
        fair_calls lock{where};
        lock.acquire(a);
        lock.acquire(b);
        lock.acquire(c);
        lock.ask("DEL", lock.keys_of_call().at(1 + static_cast<std::size_t>(lost)));
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

BOOST_DATA_TEST_CASE(a_lost_key_keeps_nobody_in_the_queue, each_place(), where)
{
    for (bool const knows_tickets : {false, true}) {
        fair_calls lock{where};
        lock.acquire(a);
        lock.acquire(b);
        lock.acquire(c);
        lock.ask("DEL", knows_tickets ? lock.at.timeouts : lock.at.tickets);
        lock.release(b);
        BOOST_TEST(lock.queue() == c);
    }
}

BOOST_DATA_TEST_CASE(a_lost_queue_is_begun_anew, each_place(), where)
{
    fair_calls lock{where};
    lock.acquire(a);
    lock.acquire(b);
    lock.acquire(c);
    lock.ask("DEL", lock.at.queue);
    lock.acquire(b);
    BOOST_TEST(line(lock.members(lock.at.timeouts)) == b);
    BOOST_TEST(is(lock.keep(c), 0));  // no place
    lock.acquire(c);
    BOOST_TEST(lock.queue() == line({b, c}));
    BOOST_TEST(lock.score(b) == 330'000);
    BOOST_TEST(lock.score(c) == 630'000);
}

BOOST_DATA_TEST_CASE(keys_of_another_type, each_place(), where)
{
    fair_calls lock{where};
    lock.ask("SET", lock.name, "text");
    for (int i = 0; i != 2; ++i) {
        BOOST_TEST(is_wrong_type(lock.acquire(a)));
        BOOST_TEST(is_wrong_type(lock.release(a)));
        BOOST_TEST(is_wrong_type(lock.force()));
        BOOST_TEST(lock.keys() == lock.name);
    }
    for (auto const& key : {lock.at.queue, lock.at.timeouts, lock.at.tickets}) {
        lock.ask("FLUSHALL");
        lock.acquire(a);
        lock.ask("SET", key, "text");
        BOOST_TEST(is_wrong_type(lock.acquire(b)));
        BOOST_TEST(lock.keys() == line(std::set{key, lock.name}));
        // A release is one all the same.
        BOOST_TEST(is_granted(lock.release(a)));
        BOOST_TEST(!lock.exists(lock.name));
        BOOST_TEST(is_gone(lock.release(a)));
        lock.keep(a);
    }
}

BOOST_DATA_TEST_CASE(full_memory_takes_nothing, each_place(), where)
{
    fair_calls lock{where};
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
        BOOST_TEST(refusal(lock.keep(b)) == 30'000);
        BOOST_TEST(refusal(lock.acquire(c)) == 30'000);
        BOOST_TEST(lock.queue() == queue);
        BOOST_TEST(lock.tickets() == tickets);
        BOOST_TEST(is_gone(lock.release(b)));
        BOOST_TEST(is_granted(lock.release(a)));
        BOOST_TEST(lock.queue() == c);
        BOOST_TEST(is_error(lock.acquire(c)));
        BOOST_TEST(lock.queue() == c);
        BOOST_TEST(lock.tickets() == c);
    });
    BOOST_TEST(is_granted(lock.acquire(c)));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::simulation
