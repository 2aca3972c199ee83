// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Several locks as one that count as held only once replicas have each of them.
#include "base/clock.hpp"
#include "unit/harness.hpp"
#include "unit/service/replicas.hpp"
#include <colock/multi_lock.hpp>
#include <colock/red_lock.hpp>

#include <boost/asio/basic_waitable_timer.hpp>

#include <algorithm>
#include <list>
#include <optional>
#include <set>
#include <string>

namespace colock::test {

namespace {

/// Answers by key; replicas have all but some, for which the server waits its time.
struct replicated_group : harness {
    replicated_group()
    {
        redis.attach(*server);
        server->serve = [this, run_script = server->serve](call const& c) -> std::optional<answer> {
            auto done = run_script(c);
            if (c.what != &scripts::acquire || c.replicas == 0 || !lagging.contains(c.key()))
                return done;
            done->unsynced = error::not_replicated;
            auto const number = server->written().size() - 1;
            auto& wait = waits.emplace_back(context, 100ms);
            wait.async_wait([this, number, late = *done](error_code ec) {
                if (!ec)
                    server->answer_call(number, late);
            });
            return {};
        };
    }
    template <class Lock>
    pending<if_acquired<typename Lock::hold_type>> take_once(Lock const& of)
    {
        auto p = of.try_acquire(on_two_replicas, settled());
        time.advance(120ms);
        return p;
    }
    template <class Lock>
    pending<typename Lock::hold_type> take(Lock const& of)
    {
        auto p = of.acquire(on_two_replicas, settled());
        time.advance(120ms);
        return p;
    }
    bool all_asked_replicas() const
    {
        return std::ranges::all_of(server->written(), [](call const& c) {
            return c.what != &scripts::acquire || c.replicas == 2;
        });
    }

    using timer = asio::basic_waitable_timer<clock, clock_wait_traits, asio::any_io_executor>;

    script_server redis;
    std::set<std::string> lagging;  ///< keys that too few replicas get
    std::list<timer> waits;
};

BOOST_FIXTURE_TEST_SUITE(service_replicas_of_groups, replicated_group)

BOOST_AUTO_TEST_CASE(a_multi_lock_asks_the_replicas_of_each)
{
    multi_lock const both{mutex("a"), mutex("b")};
    auto const got = take(both);
    BOOST_TEST_REQUIRE(got.succeeded());
    BOOST_TEST(bool{got.value()});
    BOOST_TEST(all_asked_replicas());
}

BOOST_AUTO_TEST_CASE(a_multi_lock_with_one_that_replicas_lack_has_none)
{
    multi_lock const both{mutex("a"), mutex("b")};
    lagging = {"b"};
    auto const tried = take_once(both);
    BOOST_TEST((tried.ec() == error::not_replicated));
    BOOST_TEST(!redis.is_locked("a"));
    BOOST_TEST(!redis.is_locked("b"));
}

BOOST_AUTO_TEST_CASE(a_multi_lock_waits_until_replicas_have_all)
{
    multi_lock const both{mutex("a"), mutex("b")};
    lagging = {"b"};
    auto const waiting = take(both);
    time.advance(500ms);
    BOOST_TEST(!waiting.is_done());
    lagging.clear();
    BOOST_TEST(time.advance_until([&] { return waiting.is_done(); }, 3s));
    BOOST_TEST(waiting.succeeded());
}

BOOST_AUTO_TEST_CASE(a_red_lock_counts_only_what_replicas_have)
{
    red_lock const most{mutex("a"), mutex("b"), mutex("c")};
    lagging = {"c"};
    auto two = take_once(most);
    BOOST_TEST_REQUIRE(two.succeeded());
    BOOST_TEST_REQUIRE(two.value().has_value());
    BOOST_TEST(all_asked_replicas());
    BOOST_TEST(!redis.is_locked("c"));  // it is given back
    release(*two.value());
    lagging = {"b", "c"};
    auto const one = take_once(most);
    BOOST_TEST((one.ec() == error::no_quorum));
    BOOST_TEST(!redis.is_locked("a"));
}

BOOST_AUTO_TEST_CASE(a_red_lock_waits_until_most_have_replicas)
{
    red_lock const most{mutex("a"), mutex("b"), mutex("c")};
    lagging = {"b", "c"};
    auto const waiting = take(most);
    time.advance(500ms);
    BOOST_TEST(!waiting.is_done());
    lagging = {"c"};
    BOOST_TEST(time.advance_until([&] { return waiting.is_done(); }, 3s));
    BOOST_TEST(waiting.succeeded());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
