// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
// What each viewer of the live page is sent.
#include "web/feed.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <memory>
#include <optional>
#include <string>

namespace cli::web {

namespace {

struct feed_fixture {
    /// What the viewer gets now; it doesn't wait.
    std::optional<std::string> next(feed::viewer& viewer)
    {
        std::optional<std::string> got = "nothing";
        auto const take = [&]() -> asio::awaitable<void> {
            got = co_await viewer.next(std::chrono::milliseconds{0});
        };
        asio::co_spawn(context, take(), asio::detached);
        context.restart();
        context.run();
        return got;
    }

    asio::io_context context;
    feed tested{context.get_executor()};
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(web_feed, feed_fixture)

BOOST_AUTO_TEST_CASE(a_new_viewer_gets_the_state)
{
    tested.show("old ");
    tested.show("new ");
    tested.tell("before ");
    feed::viewer viewer{tested};
    BOOST_TEST(next(viewer).value() == "new ");
    BOOST_TEST(next(viewer).value() == "");
}

BOOST_AUTO_TEST_CASE(a_slow_viewer_gets_all_events_and_the_newest_state)
{
    feed::viewer viewer{tested};
    tested.show("1 ");
    tested.tell("a ");
    tested.show("2 ");
    tested.tell("b ");
    BOOST_TEST(next(viewer).value() == "a b 2 ");
}

BOOST_AUTO_TEST_CASE(each_viewer_gets_all)
{
    feed::viewer one{tested}, two{tested};
    tested.tell("a");
    BOOST_TEST(next(one).value() == "a");
    BOOST_TEST(next(two).value() == "a");
}

BOOST_AUTO_TEST_CASE(a_viewer_that_is_too_far_behind_is_given_up)
{
    feed::viewer viewer{tested};
    for (std::size_t i = 0; i != feed::viewer::most_behind; ++i)
        tested.tell("a");
    BOOST_TEST(next(viewer).value().size() == feed::viewer::most_behind);
    for (std::size_t i = 0; i <= feed::viewer::most_behind; ++i)
        tested.tell("a");
    BOOST_TEST(!next(viewer).has_value());
}

BOOST_AUTO_TEST_CASE(an_old_state_is_forgotten)
{
    tested.show("old");
    tested.forget();
    feed::viewer viewer{tested};
    BOOST_TEST(next(viewer).value() == "");
}

BOOST_AUTO_TEST_CASE(waits_for_a_viewer)
{
    bool has_come = false;
    auto const wait = [&]() -> asio::awaitable<void> {
        co_await tested.wait_for_viewer();
        has_come = true;
    };
    asio::co_spawn(context, wait(), asio::detached);
    context.poll();
    BOOST_TEST(!has_come);
    feed::viewer viewer{tested};
    context.poll();
    BOOST_TEST(has_come);
}

BOOST_AUTO_TEST_CASE(a_viewer_may_outlive_it)
{
    auto shorter = std::make_unique<feed>(context.get_executor());
    feed::viewer viewer{*shorter};
    shorter.reset();
    BOOST_TEST(next(viewer).value() == "");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cli::web
