// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Lookups of names after a fork, and where the system has no room for another descriptor.
#include "redis/name_lookup.hpp"
#include "support/host_names.hpp"
#include "support/thread_sanitizer.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <dlfcn.h>
#include <filesystem>
#include <iterator>
#include <optional>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace colock::test {

namespace {

using namespace std::chrono_literals;

/// What the next call of `epoll_ctl` by this thread fails with.
thread_local int next_epoll_error = 0;

}  // namespace

extern "C" int epoll_ctl(int poll, int what, int descriptor, epoll_event* event) noexcept
{
    static auto const real =
        reinterpret_cast<decltype(&epoll_ctl)>(::dlsym(RTLD_NEXT, "epoll_ctl"));
    if (int const error = std::exchange(next_epoll_error, 0)) {
        errno = error;
        return -1;
    }
    return real(poll, what, descriptor, event);
}

namespace {

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

std::ptrdiff_t open_descriptors()
{
    using all = std::filesystem::directory_iterator;
    return std::distance(all{"/proc/self/fd"}, all{});
}

}  // namespace

BOOST_AUTO_TEST_SUITE(name_lookups)

#ifndef COLOCK_THREAD_SANITIZER

BOOST_AUTO_TEST_CASE(a_name_that_the_parent_is_looking_up_is_found_in_a_child)
{
    host_name const slow{"slow.example", {"127.0.0.1"}, 100ms};
    looked_up const before{"slow.example"};
    slow.wait_until_asked();  // a sanitizer's locks are not free in a child of a busy process
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

BOOST_AUTO_TEST_CASE(no_room_for_a_descriptor_is_an_error_like_others)
{
    host_name const quick{"quick.example", {"127.0.0.1"}, 0ms};
    asio::io_context context;
    name_lookup lookup{strand_type{context.get_executor()}};
    auto const before = open_descriptors();
    std::optional<error_code> answer;
    next_epoll_error = ENOSPC;
    lookup.start("quick.example", 1, [&](error_code ec, auto const&) { answer = ec; });
    BOOST_TEST_REQUIRE(answer.has_value());
    BOOST_TEST(answer->value() == ENOSPC, answer->message());
    BOOST_TEST(open_descriptors() == before);

    answer.reset();
    lookup.start("quick.example", 1, [&](error_code ec, auto const&) { answer = ec; });
    context.run_for(5s);
    BOOST_TEST_REQUIRE(answer.has_value());
    BOOST_TEST(!*answer, answer->message());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
