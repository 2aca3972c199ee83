// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// The scripts of fair locks, beside what Redisson's do to the same keys.
#include "integration/script_calls.hpp"
#include "unit/random_seed.hpp"

#include <deque>
#include <set>

namespace colock::test {

using strings = std::vector<std::string>;

/// One fair lock, and those who want it. Redisson waits for 300,000 ms, and its clock is the
/// server's.
struct fair_lock_calls : script_calls {
    explicit fair_lock_calls(server_kind kind, std::string called = "order:42")
        : script_calls{kind}
        , name{std::move(called)}
        , at{name}
    {}

    strings keys_of_call() const { return keys_of_call(name); }
    static strings keys_of_call(std::string const& of)
    {
        decide::fair_keys const at{of};
        return {of, at.queue, at.timeouts, at.tickets};
    }
    std::string channel() const { return decide::lock_channel(name); }

    reply acquire(std::string const& field, std::int64_t life = 5'000)
    {
        return run(scripts::fair_acquire,
                   keys_of_call(),
                   {"", field, "30000", "1", channel(), wait, text(life)})
            .at(0);
    }
    reply release(std::string const& field)
    {
        return run(scripts::fair_release, keys_of_call(), {field, channel(), wait}).at(0);
    }
    reply keep(std::string const& field, std::int64_t life = 5'000)
    {
        return run(scripts::fair_keep, keys_of_call(), {field, wait, text(life)}).at(0);
    }
    reply force() { return run(scripts::fair_force, keys_of_call(), {channel(), wait}).at(0); }

    // ---- Redisson, step by step ----------------------------------------------------------------

    void java_purge()
    {
        for (;;) {
            auto const head = server.ask("LINDEX", at.queue, "0");
            if (head.text.empty())
                return;
            auto const score = server.ask("ZSCORE", at.timeouts, head.text).text;
            if (score.empty() || std::stoll(score) > now())
                return;
            server.ask("ZREM", at.timeouts, head.text);
            server.ask("LPOP", at.queue);
        }
    }
    /// Nothing if it is granted.
    std::optional<std::int64_t> java_acquire(std::string const& who)
    {
        java_purge();
        auto const head = server.ask("LINDEX", at.queue, "0").text;
        if (!exists(server, name) && (head.empty() || head == who)) {
            server.ask("LPOP", at.queue);
            server.ask("ZREM", at.timeouts, who);
            for (auto const& other : texts("ZRANGE", at.timeouts, "0", "-1"))
                server.ask("ZINCRBY", at.timeouts, "-" + wait, other);
            server.ask("HSET", name, who, "1");
            server.ask("PEXPIRE", name, "30000");
            return {};
        }
        if (!server.ask("ZSCORE", at.timeouts, who).text.empty())
            return std::max<std::int64_t>(0, pttl(name));
        auto const last = server.ask("LINDEX", at.queue, "-1").text;
        auto const score = server.ask("ZSCORE", at.timeouts, last).text;
        auto const ttl = score.empty() ? pttl(name) : std::stoll(score) - now();
        server.ask("ZADD", at.timeouts, text(ttl + 300'000 + now()), who);
        server.ask("RPUSH", at.queue, who);
        return ttl;
    }
    void java_release(std::string const& who)
    {
        java_purge();
        if (server.ask("HINCRBY", name, who, "-1").number > 0)
            return;
        server.ask("DEL", name);
        if (auto const head = server.ask("LINDEX", at.queue, "0").text; !head.empty())
            server.ask("PUBLISH", channel() + ":" + head, "0");
    }

    // ---- What is there -------------------------------------------------------------------------

    std::string queue() { return line(texts("LRANGE", at.queue, "0", "-1")); }
    std::string tickets() { return line(texts("ZRANGE", at.tickets, "0", "-1")); }
    std::set<std::string> members(std::string const& key)
    {
        auto const found = texts("ZRANGE", key, "0", "-1");
        return {found.begin(), found.end()};
    }
    std::string holder()
    {
        auto const fields = texts("HKEYS", name);
        return fields.empty() ? "" : fields.at(0);
    }
    /// From now on; 0 if there is none.
    std::int64_t score(std::string const& who)
    {
        auto const found = server.ask("ZSCORE", at.timeouts, who).text;
        return found.empty() ? 0 : std::stoll(found) - now();
    }
    void die(std::string const& who) { server.ask("ZADD", at.tickets, "XX", text(now() - 1), who); }

    std::string const wait = "300000";
    std::string const name;
    decide::fair_keys const at;
};

namespace {

std::string const a = ours(1), b = ours(2), c = ours(3), d = ours(4);

}  // namespace

BOOST_AUTO_TEST_SUITE(fair_scripts)

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
    BOOST_TEST(watch.ms() <= 350);
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
    lock.die(c);  // and notices it itself
    lock.acquire(c);
    BOOST_TEST(lock.queue() == line({b, c}));
    BOOST_TEST(lock.tickets() == line({b, c}));
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

/// What the queue should be, told by the rules alone.
struct fair_model {
    std::deque<std::string> queue;
    std::set<std::string> dead;
    std::string holder;

    bool is_queued(std::string const& who) const
    {
        return std::ranges::find(queue, who) != queue.end();
    }
    void purge()
    {
        for (; !queue.empty() && dead.contains(queue.front()); queue.pop_front())
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
                    model.purge();
                    bool const granted = model.acquire(who);
                    BOOST_TEST(is_granted(lock.acquire(who)) == granted);
                }
            } else if (op < 6 && (holds || op == 5)) {
                for (int n = 1 + dice.below(2); n != 0; --n) {
                    BOOST_TEST(is_granted(lock.release(who)) == (model.holder == who));
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
        BOOST_TEST(is_error(lock.keep(b)));
        BOOST_TEST(lock.queue() == queue);
        BOOST_TEST(lock.tickets() == tickets);
        BOOST_TEST(lock.score(d) == 0);
        BOOST_TEST(is_nil(lock.release(b)));
        BOOST_TEST(is_granted(lock.release(a)));
        BOOST_TEST(lock.queue() == c);
        BOOST_TEST(is_error(lock.acquire(c)));
        BOOST_TEST(lock.queue() == c);
        BOOST_TEST(lock.tickets() == c);
    });
    BOOST_TEST(is_granted(lock.acquire(c)));
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
    BOOST_TEST(lock.release(a).number == 0);
    BOOST_TEST(lock.run(scripts::extend, {lock.name}, {a, "1", "60000"}).at(0).number == 0);
    BOOST_TEST(!exists(lock.server, lock.name));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
