// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// The server in process beside real ones: the same steps get the same replies and leave the same
// keys. All have the same wall clock, which stands still between two steps.
#include "base/clock.hpp"
#include "double_server.hpp"
#include "simulation/conformance/subject.hpp"
#include "support/seed.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>

namespace colock::simulation {

namespace {

bool only_reads(std::string_view script)
{
    return script == "inspect" || script == "request" || script == "count" ||
        script == "permit_count" || script == "leader_read";
}

/// How often each script has changed something.
using change_counts = std::map<std::string_view, int>;

bool have_all_changed(change_counts const& changes)
{
    return changes.size() == script_forms().size() &&
        std::ranges::all_of(changes, [](auto const& each) {
               return each.second != 0 || only_reads(each.first);
           });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(scripts_on_servers)

BOOST_AUTO_TEST_CASE(all_scripts_are_called)
{
    std::set<std::string_view> called, all;
    for (auto const& form : script_forms())
        BOOST_TEST(called.insert(form.what.name).second);
    for (auto const* const script : scripts::all)
        all.insert(script->name);
    BOOST_TEST(called == all, boost::test_tools::per_element());
}

// In half of the rounds keys are changed by hand, too, and scripts get what colock never sends. All
// keys go between two rounds, so that what is of a wrong type doesn't stay for long.
// COLOCK_CONFORMANCE_ROUNDS says how many rounds there are at least. Few steps meet the state in
// which some scripts change anything, so it goes on until each script has done so.
BOOST_DATA_TEST_CASE(random_steps, each_server(), kind)
{
    random_numbers dice;
    step_maker make{dice};
    simulated ours;
    real theirs{kind};
    comparison both{ours, theirs};
    change_counts changes;
    auto now = some_day;
    auto const rounds = test::from_environment("COLOCK_CONFORMANCE_ROUNDS", 50);
    auto const goes_on = [&](int round) {
        return round < rounds || (round < 40 * rounds && !have_all_changed(changes));
    };
    for (int i = 0; i % 100 != 0 || goes_on(i / 100); ++i) {
        BOOST_TEST_CONTEXT("seed " << dice.seed() << ", step " << i)
        {
            now += make.pause();
            make.set_clock(now);
            both.set_clock(now);
            bool const is_rough = i / 100 % 2 != 0;
            if (i % 100 == 0) {
                both.ask({"FLUSHALL"});
            } else if (is_rough && dice.one_in(10)) {
                both.ask(make.by_hand());
            } else if (dice.one_in(10)) {
                auto const to = dice.one_in(2) ? audience::channel : audience::shard_channel;
                both.listen(to, make.channel(), !dice.one_in(3));
            } else {
                auto const call = make.call(is_rough && dice.one_in(10));
                for (int times = dice.one_in(4) ? 2 : 1; times != 0; --times)
                    changes[call.what->name] += both.run(call);
            }
        }
    }
    BOOST_TEST(changes.size() == script_forms().size());
    for (auto const& [name, times] : changes)
        BOOST_TEST((times == 0) == only_reads(name), name << " has changed something so often");
}

BOOST_AUTO_TEST_SUITE_END()

namespace {

// The double of colock::testing beside the scripts themselves, on the server in process: the same
// steps get the same replies and tell the same. What one client of colock sends, that is, whose
// requests may come twice; the double knows no keys of wrong types and no other clients.

class doubled {
public:
    doubled()
    {
        server_.others.publish = [this](std::string const& channel, std::string payload) {
            if (!channels_.contains(channel))
                return 0;
            heard_.push_back("message " + channel + ' ' + payload);
            return 1;
        };
        server_.others.subscribers = [this](std::string const& channel) {
            return std::int64_t{channels_.contains(channel)};
        };
    }
    doubled(doubled const&) = delete;
    doubled& operator=(doubled const&) = delete;
    ~doubled() { clock::fake({}); }

    void set_clock(std::int64_t to) { clock::fake(time_point{microseconds{to}}); }

    void listen(std::string const& channel, bool does)
    {
        if (does)
            channels_.insert(channel);
        else
            channels_.erase(channel);
    }

    strings heard() { return std::exchange(heard_, {}); }

    /// As the client has it: a step for each lock.
    reply run(script_call const& c)
    {
        std::vector<std::string_view> const keys{c.keys.begin(), c.keys.end()};
        std::vector<std::string_view> const arguments{c.arguments.begin(), c.arguments.end()};
        if (is_for_many(c))
            return run_step(c, keys, arguments);
        std::vector<reply> all;
        auto const front = c.of->front.empty() ? 0U : 1U;
        auto const keys_of_one = keys.size() / c.locks;
        auto const arguments_of_one = (arguments.size() - front) / c.locks;
        for (std::size_t i = 0; i != c.locks; ++i)
            all.push_back(run_step(
                c,
                std::span{keys}.subspan(i * keys_of_one, keys_of_one),
                std::span{arguments}.subspan(front + i * arguments_of_one, arguments_of_one)
            ));
        return reply::of(std::move(all));
    }

private:
    /// The client sends it for many locks as one step.
    static bool is_for_many(script_call const& c)
    {
        return c.what->name == "expiring" || c.what->name.ends_with("renew");
    }

    reply run_step(
        script_call const& c,
        std::span<std::string_view const> keys,
        std::span<std::string_view const> arguments
    )
    {
        step one{*c.what, 0, keys, arguments};
        one.whole = is_for_many(c);
        return server_.run(one).value;
    }

    testing::double_server server_{""};
    std::set<std::string> channels_;
    strings heard_;
};

/// The locks of a call that nobody holds.
std::set<std::string> free_locks(script_call const& c, simulated& at)
{
    std::set<std::string> free;
    for (auto const& key : c.keys)
        if (at.command({"EXISTS", key}).number == 0)
            free.insert(key);
    return free;
}

/// What the client reads in an answer, where the double has the rest in another way: of a lock that
/// is inspected, what `read_inspect` finds; of a fair lock that is free, that it is worth asking;
/// of permits, for which the double has no wait list, nothing of the list. `free` are the locks
/// that were free before the call.
reply as_read(script_call const& c, std::set<std::string> free, reply all)
{
    if (all.items.size() != c.locks)  // `expiring` names some of them
        return all;
    for (std::size_t i = 0; i != c.locks; ++i) {
        auto& one = all.items[i];
        auto const& key = c.keys[i * c.keys.size() / c.locks];
        if (c.what->name == "inspect") {
            auto const found = decide::read_inspect(one);
            bool const is_read_write = key.find("read_write") != key.npos;
            one = reply::of(std::vector{
                reply::of(found.pttl),
                reply::of(std::int64_t{is_read_write && found.is_written}),
                reply::of(std::int64_t{is_read_write && found.is_read})});
        } else if (c.what->name == "semaphore_acquire" || c.what->name == "permit_acquire") {
            if (one.items.size() == 3)
                one.items.pop_back();
        } else if (c.of->kinds == "fair" && one.what == reply::kind::list) {
            one = free.contains(key) ? reply::of("ask") : one;
        } else if (c.what->name == "fair_acquire") {
            free.erase(key);  // granted, and it may stand in the call again
        }
    }
    return all;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(double_of_the_server)

// The clock goes on by whole milliseconds, or so far that all leases end.
BOOST_AUTO_TEST_CASE(random_steps)
{
    random_numbers dice;
    auto now = some_day / 1'000 * 1'000;
    auto const rounds = test::from_environment("COLOCK_CONFORMANCE_ROUNDS", 200);
    for (int round = 0; round != rounds; ++round) {
        step_maker make{dice, mood::tame};
        simulated script;
        doubled imitation;
        for (int i = 0; i != 50; ++i) {
            now += dice.one_in(30) ? 100'000'000 : dice.one_in(4) ? 1'000 * dice.below(100) : 0;
            make.set_clock(now);
            script.set_clock(now);
            imitation.set_clock(now);
            if (dice.one_in(8)) {
                auto const channel = make.channel();
                bool const does = !dice.one_in(3);
                script.listen(audience::channel, channel, does);
                imitation.listen(channel, does);
            }
            auto const call = make.call(false);
            for (int times = dice.one_in(3) ? 2 : 1; times != 0; --times) {
                BOOST_TEST_CONTEXT(
                    "seed " << dice.seed() << ", round " << round << ", step " << i << ": "
                            << call.describe()
                )
                {
                    auto const free = free_locks(call, script);
                    auto const of_script =
                        as_read(call, free, script.run(call.what->text, call.keys, call.arguments));
                    auto const of_double = as_read(call, free, imitation.run(call));
                    BOOST_TEST_REQUIRE(
                        are_alike(of_double, of_script),
                        to_string(of_double) << " is not " << to_string(of_script)
                    );
                    BOOST_TEST_REQUIRE(
                        imitation.heard() == script.heard(), boost::test_tools::per_element()
                    );
                }
            }
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::simulation
