// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// The spans that `tracing_observer` makes of a client's events, at a recorder that keeps them.
#include "unit/harness.hpp"
#include <colock/tracing.hpp>

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace colock::test {

namespace {

/// Stands for a tracing library; a span's identity is its number, from 1.
struct span_list {
    struct kept {
        trace_span span;
        std::string name;
        int link;
    };
    struct recorder {
        using span_identity = int;

        int operator()(trace_span const& span, std::optional<int> const& link) const
        {
            if (to->fails)
                throw std::runtime_error{"no exporter"};
            to->all.push_back({span, std::string{span.name}, link.value_or(0)});
            return static_cast<int>(to->all.size());
        }

        span_list* to;
    };

    std::vector<kept> all;
    bool fails = false;
};

using how = trace_span::outcome;

/// Tells an observer what a client does, without one.
struct told {
    std::shared_ptr<recorder> next = std::make_shared<recorder>();
    span_list spans;
    tracing_observer<span_list::recorder> tracing{span_list::recorder{&spans}, next};
};

BOOST_FIXTURE_TEST_SUITE(tracing_spans, told)

BOOST_AUTO_TEST_CASE(a_wait_and_its_hold)
{
    tracing.on_event(events::acquired{"k", 1, 30ms, 2});
    tracing.on_event(events::released{"k", 5ms});
    BOOST_TEST_REQUIRE(spans.all.size() == 2U);
    auto const& [wait, name, link] = spans.all[0];
    BOOST_TEST((wait.what == trace_span::kind::wait));
    BOOST_TEST((wait.how == how::acquired));
    BOOST_TEST((wait.end - wait.begin == 30ms));
    BOOST_TEST(wait.attempts == 2U);
    BOOST_TEST(name == "k");
    BOOST_TEST(link == 0);
    auto const& hold = spans.all[1].span;
    BOOST_TEST((hold.what == trace_span::kind::hold));
    BOOST_TEST((hold.how == how::released));
    BOOST_TEST((hold.end - hold.begin == 5ms));
}

BOOST_AUTO_TEST_CASE(a_wait_is_linked_to_the_hold_that_it_waited_for)
{
    tracing.on_event(events::released{"k", 5ms});
    tracing.on_event(events::acquired{"other", 1, 1h, 2});
    tracing.on_event(events::acquired{"k", 1, 1h, 2});
    BOOST_TEST(spans.all[1].link == 0);
    BOOST_TEST(spans.all[2].link == 1);
}

BOOST_AUTO_TEST_CASE(a_hold_that_ended_before_the_call_is_no_cause)
{
    tracing.on_event(events::released{"k", 5ms});
    tracing.on_event(events::acquired{"k", 1, -1h, 1});  // called after it
    BOOST_TEST(spans.all[1].link == 0);
}

BOOST_AUTO_TEST_CASE(waits_without_success)
{
    tracing.on_event(events::gave_up{"k", 1, 1s, 3});
    tracing.on_event(events::cancelled{"k", 1, 2s, 1});
    BOOST_TEST((spans.all[0].span.how == how::gave_up));
    BOOST_TEST((spans.all[1].span.how == how::cancelled));
    BOOST_TEST((spans.all[1].span.end - spans.all[1].span.begin == 2s));
}

BOOST_AUTO_TEST_CASE(a_loss)
{
    tracing.on_event(events::acquired{"k", 1, 0ms, 1});
    tracing.on_event(events::lost{"k", {}, error::lost});
    auto const& lost = spans.all[1].span;
    BOOST_TEST((lost.how == how::lost));
    BOOST_TEST((lost.why == error::lost));
    BOOST_TEST((lost.begin == spans.all[0].span.end));
    tracing.on_event(events::lost{"unknown", {}, error::lost});
    BOOST_TEST((spans.all[2].span.begin == spans.all[2].span.end));
}

BOOST_AUTO_TEST_CASE(memory_is_bounded)
{
    for (std::size_t i = 0; i != 3 * tracing.most_names; ++i)
        tracing.on_event(events::released{std::to_string(i), 1ms});
    tracing.on_event(events::acquired{"0", 1, 1h, 2});  // forgotten
    BOOST_TEST(spans.all.back().link == 0);
    tracing.on_event(events::acquired{std::to_string(3 * tracing.most_names - 1), 1, 1h, 2});
    BOOST_TEST(spans.all.back().link != 0);
}

BOOST_AUTO_TEST_CASE(a_recorder_that_throws_ends_nothing)
{
    spans.fails = true;
    tracing.on_event(events::acquired{"k", 1, 1ms, 1});
    tracing.on_event(events::released{"k", 1ms});
    BOOST_TEST(next->count("acquired") == 1);
    BOOST_TEST(next->count("released") == 1);
}

BOOST_AUTO_TEST_CASE(each_event_is_passed_on)
{
    tracing.on_event(events::waiting{"k", 1, 0us, 1s});
    tracing.on_event(events::renewed{"k", 1s});
    tracing.on_event(events::renew_failed{"k", error::unavailable});
    tracing.on_event(events::handed_over{"k"});
    tracing.on_event(events::found_lost{"k"});
    tracing.on_event(events::lost{"k", {}, error::lost});
    tracing.on_event(events::no_permits_set{"k"});
    tracing.on_event(events::link_up{0, 1});
    tracing.on_event(events::link_down{0, error::unavailable});
    tracing.on_event(events::subscription_failed{"k", error::subscription_failed});
    for (auto const* what :
         {"waiting",
          "renewed",
          "renew_failed",
          "handed_over",
          "found_lost",
          "lost",
          "no_permits_set",
          "link_up",
          "link_down",
          "subscription_failed"})
        BOOST_TEST(next->count(what) == 1, what);
    BOOST_TEST(spans.all.size() == 1U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
