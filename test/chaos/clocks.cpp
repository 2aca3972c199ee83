// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Wall clocks that jump; the steady ones go on, as they do in the kernel.
#include "chaos/trials.hpp"
#include "support/places.hpp"

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <memory>

namespace colock::test {

namespace {

/// How far the wall clocks are off of those that start in its environment.
class wrong_clock {
public:
    void set(std::int64_t seconds) { *static_cast<std::int64_t*>(memory_.at()) = seconds; }

    std::vector<std::string> environment() const
    {
        return {
            "LD_PRELOAD=" + beside_this_program("libcolock-wall-clock-shift.so"),
            "COLOCK_WALL_CLOCK_SHIFT=" + file_.path()};
    }

    std::vector<std::string> program() const
    {
        auto words = environment();
        words.insert(words.begin(), "/usr/bin/env");
        return words;
    }

    /// How far it is off for a program that asks, in seconds.
    std::int64_t seen() const
    {
        std::string command;
        for (auto const& word : program())
            command += word + ' ';
        std::unique_ptr<FILE, int (*)(FILE*)> const date{
            ::popen((command + "date +%s").c_str(), "r"), ::pclose};
        long long seconds = 0;
        BOOST_REQUIRE(std::fscanf(date.get(), "%lld", &seconds) == 1);
        return seconds - std::time(nullptr);
    }

private:
    temporary_file file_;
    shared_memory memory_{file_.path(), sizeof(std::int64_t)};
};

/// Not where we are built with a runtime that must come first.
constexpr bool can_jump = COLOCK_SANITIZED == 0;

/// What starts while this lives has that clock.
class in_its_environment {
public:
    explicit in_its_environment(wrong_clock const& clock) : words_{clock.environment()}
    {
        for (auto const& word : words_)
            ::setenv(name_of(word).c_str(), word.c_str() + word.find('=') + 1, 1);
    }
    in_its_environment(in_its_environment const&) = delete;
    in_its_environment& operator=(in_its_environment const&) = delete;
    ~in_its_environment()
    {
        for (auto const& word : words_)
            ::unsetenv(name_of(word).c_str());
    }

private:
    static std::string name_of(std::string const& word) { return word.substr(0, word.find('=')); }

    std::vector<std::string> words_;
};

/// Whether that was conclusive.
bool server_jumps(int seconds)
{
    wrong_clock clock;
    auto const all = [&] {
        in_its_environment const meanwhile{clock};
        return std::make_unique<series>(
            "the server's clock jumps by " + std::to_string(seconds) + " s",
            arena_plan{.through = {"/usr/bin/env", "-u", "LD_PRELOAD"}}
        );
    }();
    auto const jump = [&](int to, int least, int most) {
        return fault{
            .name = "jump to " + std::to_string(to) + " s",
            .leaves = promise::fence,
            .begin = [&clock, to](arena&) { clock.set(to); },
            .least = least,
            .most = most,
            .takes_all = true};
    };
    for (int i = 0; i != chaos_trials(); ++i) {
        all->undergo({jump(seconds, 1'000, 2'000)});
        all->undergo({jump(0, 500, 1'000)});
    }
    all->finish();
    all->check_notice();
    return all->is_conclusive();
}

}  // namespace

BOOST_AUTO_TEST_SUITE(clocks)

BOOST_AUTO_TEST_CASE(of_clients_jump_by_an_hour, *boost::unit_test::precondition([](auto) {
                         return boost::test_tools::assertion_result{can_jump};
                     }))
{
    until_conclusive([] {
        wrong_clock clock;
        series all{"wall clocks of clients jump by an hour", {.through = clock.program()}};
        for (int i = 0; i != 4 * chaos_trials(); ++i) {
            clock.set(i % 2 == 0 ? 3'600 : -3'600);
            BOOST_TEST(std::abs(clock.seen()) > 3'500);
            all.undergo({});
        }
        all.finish();
        all.check_exclusion();
        all.check_that_nothing_is_lost();
        return all.is_conclusive();
    });
}

// What expires, and when, the server measures by its wall clock.
BOOST_AUTO_TEST_CASE(of_the_server_jumps_by_ten_seconds, *boost::unit_test::precondition([](auto) {
                         return boost::test_tools::assertion_result{can_jump};
                     }))
{
    for (int const seconds : {10, -10})
        until_conclusive([seconds] { return server_jumps(seconds); });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
