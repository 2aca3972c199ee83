// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Lookups of names after a fork.
#include "redis/name_lookup.hpp"
#include "support/host_names.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <optional>
#include <sys/wait.h>
#include <unistd.h>

namespace colock::test {

namespace {

using namespace std::chrono_literals;

struct looked_up {
    explicit looked_up(std::string const& name)
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

#ifndef __SANITIZE_THREAD__  // which ends a child that starts threads

BOOST_AUTO_TEST_CASE(a_name_that_the_parent_is_looking_up_is_found_in_a_child)
{
    host_name const slow{"slow.example", {"127.0.0.1"}, 100ms};
    looked_up const before{"slow.example"};
    auto const child = ::fork();
    BOOST_TEST_REQUIRE(child >= 0);
    if (child == 0) {
        ::alarm(10);
        looked_up here{"slow.example"};
        here.context.run_for(5s);
        ::_exit(here.addresses == 1 ? 0 : 1);
    }
    int status = -1;
    BOOST_TEST(::waitpid(child, &status, 0) == child);
    BOOST_TEST(status == 0);
}

#endif

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
