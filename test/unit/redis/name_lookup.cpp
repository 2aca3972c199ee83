// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Lookups of names: after a fork, for several callers, and when their context ends. Each case has a
// name of its own, because a lookup goes on when nobody waits for it any more, and others join it.
#include "redis/name_lookup.hpp"
#include "support/host_names.hpp"
#include "support/thread_sanitizer.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace colock::test {

namespace {

using namespace std::chrono_literals;
using namespace std::string_literals;

struct looked_up {
    explicit looked_up(std::string const& name, int hint = BOOST_ASIO_CONCURRENCY_HINT_DEFAULT)
        : context{hint}
    {
        lookup.start(name, 1, [this](error_code ec, auto const& found) {
            answer = ec;
            addresses = found.size();
        });
    }

    asio::io_context context;
    std::optional<error_code> answer;
    std::size_t addresses = 0;
    name_lookup lookup{strand_type{context.get_executor()}};
};

}  // namespace

BOOST_AUTO_TEST_SUITE(name_lookups)

#ifndef COLOCK_THREAD_SANITIZER

BOOST_AUTO_TEST_CASE(a_name_that_the_parent_is_looking_up_is_found_in_a_child)
{
    host_name const slow{"forked.example", {"127.0.0.1"}, 100ms};
    looked_up const before{"forked.example"};
    slow.wait_until_asked();  // a sanitizer's locks are not free in a child of a busy process
    auto const child = ::fork();
    BOOST_TEST_REQUIRE(child >= 0);
    if (child == 0) {
        ::alarm(10);
        looked_up here{"forked.example"};
        here.context.run_for(5s);
        ::_exit(here.addresses == 1 ? 0 : 1);
    }
    int status = -1;
    BOOST_TEST(::waitpid(child, &status, 0) == child);
    BOOST_TEST(status == 0);
}

#endif

BOOST_AUTO_TEST_CASE(a_context_waits_for_a_lookup)
{
    host_name const slow{"awaited.example", {"127.0.0.1", "::1"}, 20ms};
    looked_up lookup{"awaited.example"};
    lookup.context.run();
    BOOST_TEST_REQUIRE(lookup.answer.has_value());
    BOOST_TEST(!*lookup.answer, lookup.answer->message());
    BOOST_TEST(lookup.addresses == 2);
}

BOOST_AUTO_TEST_CASE(a_context_without_locks_is_enough)
{
    host_name const slow{"unsafe.example", {"127.0.0.1"}, 20ms};
    looked_up lookup{"unsafe.example", BOOST_ASIO_CONCURRENCY_HINT_UNSAFE};
    lookup.context.run();
    BOOST_TEST(lookup.addresses == 1);
}

BOOST_AUTO_TEST_CASE(a_context_does_not_wait_for_a_cancelled_lookup)
{
    host_name const slow{"cancelled.example", {"127.0.0.1"}, 1h};
    looked_up lookup{"cancelled.example"};
    lookup.lookup.cancel();
    lookup.context.run();
    BOOST_TEST(!lookup.answer.has_value());
}

BOOST_AUTO_TEST_CASE(two_callers_are_told_by_one_lookup)
{
    host_name const slow{"shared.example", {"127.0.0.1"}, 20ms};
    looked_up first{"shared.example"};
    looked_up second{"shared.example"};
    first.context.run();
    second.context.run();
    BOOST_TEST((first.addresses == 1 && second.addresses == 1));
}

BOOST_AUTO_TEST_CASE(a_name_that_is_not_known_is_an_error)
{
    host_name const none{"none.example", {}, 0ms};
    looked_up lookup{"none.example"};
    lookup.context.run();
    BOOST_TEST_REQUIRE(lookup.answer.has_value());
    BOOST_TEST(*lookup.answer == asio::error::host_not_found_try_again, lookup.answer->message());
}

// A handler that never runs has the lookup, as a connection has that a client has left behind. The
// thread ends when the context is gone.
BOOST_AUTO_TEST_CASE(a_context_may_end_during_a_lookup)
{
    std::optional<host_name> slow{std::in_place, "ended.example", std::vector{"127.0.0.1"s}, 1h};
    bool is_told = false;
    {
        asio::io_context context;
        auto lookup = std::make_shared<name_lookup>(strand_type{context.get_executor()});
        lookup->start("ended.example", 1, [&](error_code, auto const&) { is_told = true; });
        asio::post(context, [lookup = std::move(lookup)] {});
        slow->wait_until_asked();
    }
    slow.reset();
    BOOST_TEST(!is_told);
}

BOOST_AUTO_TEST_CASE(who_is_cancelled_when_the_name_is_found_is_not_told)
{
    host_name const quick{"both.example", {"127.0.0.1"}, 20ms};
    asio::io_context context;
    strand_type const strand{context.get_executor()};
    name_lookup first{strand}, second{strand};
    int told = 0;
    auto const ends = [&told](name_lookup& other) {
        return [&told, &other](error_code, auto const&) {
            ++told;
            other.cancel();
        };
    };
    first.start("both.example", 1, ends(second));
    second.start("both.example", 1, ends(first));
    context.run();
    BOOST_TEST(told == 1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
