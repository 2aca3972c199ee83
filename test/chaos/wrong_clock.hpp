// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "integration/suites.hpp"
#include "support/places.hpp"
#include "support/shared_memory.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

namespace colock::test {

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

/// Not where we are built with a runtime that must come first.
inline boost::test_tools::assertion_result clocks_can_jump(boost::unit_test::test_unit_id)
{
    return COLOCK_SANITIZED == 0;
}
inline auto only_where_clocks_can_jump()
{
    return boost::unit_test::precondition(&clocks_can_jump);
}

}  // namespace colock::test
