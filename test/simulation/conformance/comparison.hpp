// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "simulation/conformance/steps.hpp"
#include "simulation/conformance/subject.hpp"

#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace colock::simulation {

/// Each server that is here.
inline auto each_server() { return boost::unit_test::data::make(test::installed_servers()); }

inline constexpr std::int64_t some_day = 1'795'300'000'123'456;

/// Takes the same steps on two servers, which must be alike after each.
class comparison {
public:
    comparison(subject& a, subject& b) : a_{a}, b_{b} {}

    void set_clock(std::int64_t to)
    {
        for (auto* const one : {&a_, &b_})
            one->set_clock(to);
    }

    void listen(audience to, std::string const& channel, bool does)
    {
        for (auto* const one : {&a_, &b_})
            one->listen(to, channel, does);
    }

    void ask(strings const& words)
    {
        std::string said;
        for (auto const& word : words)
            said += '\'' + word + "' ";
        compare(said, a_.command(words), b_.command(words));
    }

    void run(std::string_view text, strings const& keys, strings const& arguments)
    {
        std::string said{text};
        for (auto const& word : arguments)
            said += " '" + word + '\'';
        compare(said, a_.run(text, keys, arguments), b_.run(text, keys, arguments));
    }

    /// True if it has changed something.
    bool run(script_call const& c)
    {
        auto const before = a_.everything();
        auto const of_a = a_.run(c.form->text, c.keys, c.arguments);
        auto const of_b = b_.run(c.form->text, c.keys, c.arguments);
        return !are_alike(before, compare(c.describe(), of_a, of_b));
    }

private:
    /// Gives what is there now.
    reply compare(std::string const& said, reply const& of_a, reply const& of_b)
    {
        check(said, of_a, of_b);
        auto all = a_.everything();
        check(said, all, b_.everything());
        auto const heard_by_a = a_.heard(), heard_by_b = b_.heard();
        BOOST_TEST_INFO(said);
        BOOST_TEST_REQUIRE(heard_by_a == heard_by_b, boost::test_tools::per_element());
        return all;
    }

    static void check(std::string const& said, reply const& of_a, reply const& of_b)
    {
        BOOST_TEST_INFO(said);
        BOOST_TEST_REQUIRE(are_alike(of_a, of_b), to_string(of_a) << " is not " << to_string(of_b));
    }

    subject& a_;
    subject& b_;
};

}  // namespace colock::simulation
