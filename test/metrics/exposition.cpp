// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What Prometheus is shown, and that the dashboard and the page name what it is shown.
#include "support/places.hpp"
#include <colock/metrics/prometheus.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <fstream>
#include <iterator>
#include <prometheus/text_serializer.h>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace colock::test {

using namespace std::chrono_literals;

namespace {

std::string text_of(prometheus_collector const& from)
{
    return prometheus::TextSerializer{}.Serialize(from.Collect());
}

std::string content_of(std::string const& path)
{
    std::ifstream file{path};
    if (!file)
        throw std::runtime_error{"can't read " + path};
    return {std::istreambuf_iterator<char>{file}, {}};
}

/// The words of a text that begin as our metrics do.
std::set<std::string> names_in(std::string_view text)
{
    constexpr std::string_view begin = "colock_";
    constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz_";
    std::set<std::string> names;
    for (auto at = text.find(begin); at != text.npos; at = text.find(begin, at)) {
        auto const end = std::min(text.find_first_not_of(letters, at), text.size());
        names.emplace(text.substr(at, end - at));
        at = end;
    }
    return names;
}

/// With a name that is counted apart.
std::vector<prometheus::MetricFamily> all_families()
{
    std::vector<std::string> const names{"leader"};
    return prometheus_collector{"c", std::make_shared<metrics>(names)}.Collect();
}

std::set<std::string> families()
{
    std::set<std::string> names;
    for (auto const& each : all_families())
        names.insert(each.name);
    return names;
}

/// As a query names it.
std::set<std::string> series()
{
    std::set<std::string> names;
    for (auto const& each : all_families()) {
        bool const is_histogram = each.type == prometheus::MetricType::Histogram;
        if (!is_histogram)
            names.insert(each.name);
        else
            for (auto const* end : {"_bucket", "_sum", "_count"})
                names.insert(each.name + end);
    }
    return names;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(exposition)

BOOST_AUTO_TEST_CASE(the_text_that_is_scraped)
{
    auto const counted = std::make_shared<metrics>();
    counted->on_event(events::acquired{"k", 1, 200us, 1});
    counted->on_event(events::acquired{"k", 1, 1ms, 3});
    counted->on_event(events::acquired{"k", 1, 400s, 2});
    counted->on_event(events::handed_over{"k"});
    counted->on_event(events::renewed{"k", 3s});
    counted->on_event(events::link_up{0, 2});
    auto const text = text_of({"shop", counted});
    for (std::string_view const line : {
             "# TYPE colock_acquire_wait_seconds histogram\n",
             "colock_acquire_wait_seconds_bucket{client=\"shop\",le=\"0.0001\"} 0\n",
             "colock_acquire_wait_seconds_bucket{client=\"shop\",le=\"0.00025\"} 1\n",
             "colock_acquire_wait_seconds_bucket{client=\"shop\",le=\"0.001\"} 2\n",
             "colock_acquire_wait_seconds_bucket{client=\"shop\",le=\"300\"} 2\n",
             "colock_acquire_wait_seconds_bucket{client=\"shop\",le=\"+Inf\"} 3\n",
             "colock_acquire_wait_seconds_count{client=\"shop\"} 3\n",
             "colock_acquire_wait_seconds_sum{client=\"shop\"} 400.0012\n",
             "colock_handovers_total{client=\"shop\",via=\"process\"} 1\n",
             "colock_handovers_total{client=\"shop\",via=\"server\"} 2\n",
             "colock_acquire_attempts_total{client=\"shop\"} 6\n",
             "colock_renewals_total{client=\"shop\"} 1\n",
             "colock_reconnects_total{client=\"shop\"} 1\n",
             "# TYPE colock_holds gauge\n",
             "colock_holds{client=\"shop\"} 0\n",
         })
        BOOST_TEST(text.find(line) != text.npos, line << "is missing in\n" << text);
    BOOST_TEST(text.find("\"k\"") == text.npos);  // no label by the name of a lock
}

BOOST_AUTO_TEST_CASE(names_that_are_counted_apart)
{
    std::vector<std::string> const names{"leader", "job"};
    auto const counted = std::make_shared<metrics>(names);
    counted->on_event(events::acquired{"leader", 1, 200us, 1});
    counted->on_event(events::gave_up{"job", 1, 1s, 2});
    counted->on_event(events::acquired{"order:1", 1, 200us, 1});
    auto const text = text_of({"shop", counted});
    for (std::string_view const line : {
             "colock_named_acquire_wait_seconds_count{client=\"shop\",name=\"leader\"} 1\n",
             "colock_named_acquire_wait_seconds_count{client=\"shop\",name=\"job\"} 0\n",
             "colock_named_gave_up_total{client=\"shop\",name=\"job\"} 1\n",
             "colock_gave_up_total{client=\"shop\"} 1\n",
             "colock_acquire_wait_seconds_count{client=\"shop\"} 2\n",
         })
        BOOST_TEST(text.find(line) != text.npos, line << "is missing in\n" << text);
    BOOST_TEST(text.find("order:1") == text.npos);
}

BOOST_AUTO_TEST_CASE(names_follow_the_rules_of_prometheus)
{
    std::set<std::string> seen;
    for (auto const& each : all_families()) {
        BOOST_TEST_CONTEXT(each.name)
        {
            using type = prometheus::MetricType;
            BOOST_TEST(seen.insert(each.name).second);
            BOOST_TEST(each.name.starts_with("colock_"));
            BOOST_TEST(each.help.ends_with("."));
            BOOST_TEST(each.name.ends_with("_total") == (each.type == type::Counter));
            BOOST_TEST(each.name.ends_with("_seconds") == (each.type == type::Histogram));
            BOOST_TEST(!each.metric.empty());
        }
    }
}

BOOST_AUTO_TEST_CASE(a_label_may_be_any_text)
{
    auto const text = text_of({"a\"b\\c\nd", std::make_shared<metrics>()});
    BOOST_TEST(text.find(R"(colock_holds{client="a\"b\\c\nd"} 0)") != text.npos);
}

BOOST_AUTO_TEST_CASE(the_dashboard_asks_for_what_there_is)
{
    auto const there = series();
    auto const asked = names_in(content_of(in_source_tree("docs/grafana/colock.json")));
    BOOST_TEST(asked.size() > 10U);
    for (auto const& name : asked)
        BOOST_TEST(there.contains(name), name);
}

BOOST_AUTO_TEST_CASE(the_page_explains_each)
{
    auto const explained = names_in(content_of(in_source_tree("docs/metrics.md")));
    for (auto const& name : families())
        BOOST_TEST(explained.contains(name), name);
    auto known = series();
    known.merge(families());
    for (auto const& name : explained)
        BOOST_TEST(known.contains(name), name);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
