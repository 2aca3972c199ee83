// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Two clients take and give permits of one semaphore while answers are lost, connections go and
// callers change their minds: never are more out than the server knows of, and in the end all of
// them are back. A failure prints its seed; COLOCK_SEED repeats it.
#include "support/fake_counters.hpp"
#include "support/patience.hpp"
#include "unit/harness.hpp"
#include "unit/random_seed.hpp"
#include <colock/permit_semaphore.hpp>
#include <colock/semaphore.hpp>

#include <algorithm>
#include <array>
#include <list>

namespace colock::test {

namespace {

constexpr std::int64_t permits = 6;

config nervous()
{
    auto c = short_leases();
    c.poll_cap = 50ms;
    c.linger = 20ms;
    c.timeout = 200ms;
    c.log = {[](log_level, std::string_view) {}, log_level::error};
    return c;
}

/// A client whose server's answers are lost at times.
class node {
public:
    node(fake_counters& server, random_numbers& random) : redis{server}, random_{random} {}

    void begin()
    {
        at.server->serve = [this](call const& c) -> std::optional<answer> {
            if (calm)
                return answer{answer::kind::replied, redis.run(c), {}, {}};
            if (random_.one_in(12))
                return answer{answer::kind::lost, {}, asio::error::eof, {}};  // it has not run
            if (random_.one_in(40))
                return answer{answer::kind::not_now, {}, error::unavailable, {}};
            auto got = redis.run(c);
            if (random_.one_in(12))
                return answer{answer::kind::lost, {}, asio::error::eof, {}};
            return answer{answer::kind::replied, std::move(got), {}, {}};
        };
    }

    harness at{nervous()};
    fake_counters& redis;
    bool calm = false;

private:
    random_numbers& random_;
};

/// Both clients, one server, one clock: `node::at.time` of either moves the time of both.
struct world {
    world()
    {
        redis.counters["k"] = permits;
        for (auto& each : nodes) {
            redis.attach(*each.at.server);
            each.begin();
        }
    }

    void settle()
    {
        for (auto& each : nodes)
            each.at.time.settle();
    }
    /// A few handlers, so that calls come while steps are on their way.
    void step()
    {
        auto& time = nodes[static_cast<unsigned>(random.below(2))].at.time;
        for (auto left = random.below(5); left != 0 && time.step(); --left) {}
    }
    void pass(milliseconds time)
    {
        constexpr auto tick = 10ms;
        for (auto left = time; left > 0ms; left -= tick) {
            nodes[0].at.time.jump(std::min(left, milliseconds{tick}));
            settle();
        }
    }
    void cause_trouble()
    {
        auto& server = *nodes[static_cast<unsigned>(random.below(2))].at.server;
        for (unsigned link = 0; link != config{}.links; ++link)
            server.is_up(link) ? server.link_down(link) : server.link_up(link);
    }
    void calm_down()
    {
        for (auto& each : nodes) {
            each.calm = true;
            each.at.server->all_up();
        }
        settle();
    }

    random_numbers random;
    fake_counters redis;
    std::array<node, 2> nodes{node{redis, random}, node{redis, random}};
};

}  // namespace

BOOST_AUTO_TEST_SUITE(service_permit_walk)

BOOST_AUTO_TEST_CASE(of_a_semaphore)
{
    world w;
    struct taking {
        std::int64_t wanted;
        pending<> done;
    };
    std::list<taking> under_way;
    std::list<pending<>> giving;
    std::int64_t held = 0;
    int operations = 0, granted = 0;
    auto const look = [&] {
        under_way.remove_if([&](taking& t) {
            if (t.done.succeeded()) {
                held += t.wanted;
                ++granted;
            }
            return t.done.is_done();
        });
        giving.remove_if([](auto& p) { return p.is_done(); });
        BOOST_TEST_REQUIRE(w.redis.counters["k"] >= 0);
        // What is being given is still out, or not any more.
        BOOST_TEST_REQUIRE(held <= permits - w.redis.counters["k"]);
    };
    while (operations < often(40'000)) {
        auto& client = w.nodes[static_cast<unsigned>(w.random.below(2))].at.client;
        semaphore const mine{client, "k"};
        if (w.random.one_in(2) && under_way.size() < 8) {
            auto& next = under_way.emplace_back(taking{1 + w.random.below(3), {}});
            mine.acquire(next.wanted, next.done.token());
            ++operations;
        } else if (held != 0) {
            auto const n = 1 + w.random.below(static_cast<int>(held));
            held -= n;
            mine.release(n, giving.emplace_back().token());
            ++operations;
        }
        bool const all = w.random.one_in(8);  // then what is on its way is to be undone
        for (auto& each : under_way)
            if (all || (&each == &under_way.front() && w.random.one_in(4)))
                each.done.cancel();
        if (w.random.one_in(200))
            w.cause_trouble();
        if (!w.random.one_in(3))
            w.step();
        else if (w.random.one_in(3))
            w.settle();
        else if (w.random.one_in(4))
            w.pass(milliseconds{w.random.below(60)});
        look();
    }
    BOOST_TEST(granted > operations / 20);
    for (auto& each : under_way)
        each.done.cancel();
    w.calm_down();
    w.pass(100ms);
    look();
    if (held != 0)
        semaphore{w.nodes[0].at.client, "k"}.release(held, giving.emplace_back().token());
    w.pass(100ms);
    BOOST_TEST(w.redis.counters["k"] == permits);
    for (auto& each : w.nodes) {
        BOOST_TEST(each.at.client.stats().keys == 0U);
        BOOST_TEST(each.at.client.stats().owed_releases == 0U);
        BOOST_TEST(each.at.client.stats().waiters == 0U);
    }
}

BOOST_AUTO_TEST_CASE(of_a_permit_semaphore)
{
    world w;
    std::list<pending<permit>> under_way;
    std::list<permit> held;
    std::list<pending<>> giving;
    int operations = 0, granted = 0;
    auto const look = [&] {
        under_way.remove_if([&](pending<permit>& p) {
            if (p.succeeded()) {
                held.push_back(std::move(p.value()));
                ++granted;
            }
            return p.is_done();
        });
        giving.remove_if([](auto& p) { return p.is_done(); });
        held.remove_if([](permit const& p) { return !p; });  // lost: told before it passes on
        auto const out = static_cast<std::int64_t>(w.redis.leases["k"].size());
        BOOST_TEST_REQUIRE(w.redis.counters["k"] + out == permits);
        BOOST_TEST_REQUIRE(static_cast<std::int64_t>(held.size()) <= out);
    };
    while (operations < often(15'000)) {
        auto& client = w.nodes[static_cast<unsigned>(w.random.below(2))].at.client;
        permit_semaphore const mine{client, "k"};
        if (w.random.one_in(2) && under_way.size() < 8) {
            acquire_options how;
            if (w.random.one_in(2))
                how.lease = milliseconds{200 + w.random.below(2) * 300};
            mine.acquire(how, under_way.emplace_back().token());
            ++operations;
        } else if (!held.empty()) {
            if (w.random.one_in(2))
                held.front().release(giving.emplace_back().token());
            else if (w.random.one_in(3))
                held.front().extend(400ms, giving.emplace_back().token());
            else
                held.pop_front();
            ++operations;
        }
        bool const all = w.random.one_in(8);  // then what is on its way is to be undone
        for (auto& each : under_way)
            if (all || (&each == &under_way.front() && w.random.one_in(4)))
                each.cancel();
        if (w.random.one_in(200))
            w.cause_trouble();
        if (!w.random.one_in(3))
            w.step();
        else if (w.random.one_in(3))
            w.settle();
        else if (w.random.one_in(4))
            w.pass(milliseconds{w.random.below(100)});
        look();
    }
    BOOST_TEST(granted > operations / 20);
    for (auto& each : under_way)
        each.cancel();
    w.calm_down();
    held.clear();
    w.pass(100ms);
    look();
    held.clear();
    w.pass(3'500ms);  // what the lost ones had comes back by its lease, if anybody asks
    pending<std::int64_t> left;
    permit_semaphore{w.nodes[0].at.client, "k"}.available(left.token());
    w.pass(10ms);
    BOOST_TEST(left.succeeded());
    BOOST_TEST(left.value() == permits);
    for (auto& each : w.nodes) {
        BOOST_TEST(each.at.client.stats().keys == 0U);
        BOOST_TEST(each.at.client.stats().holds == 0U);
        BOOST_TEST(each.at.client.stats().owed_releases == 0U);
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
