// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "checker/operations.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

namespace colock::test {

namespace {

/// Of process 1 at key 3; times in ns, and a lease of 100 ns.
class told_operations {
public:
    told_operations& then(what kind, std::int64_t at, std::int64_t valid_until = 0)
    {
        auto& e = all_.emplace_back();
        e.kind = kind;
        e.at = at;
        e.process = 1;
        e.key = 3;
        e.attempt = 2;
        e.valid_until = valid_until;
        if (kind == what::got || kind == what::used)
            e.token = 7;
        return *this;
    }
    told_operations& gets() { return then(what::asked, 10).then(what::got, 20, 115); }
    event& last() { return all_.back(); }

    std::string operations() const
    {
        std::ostringstream text;
        write_operations(all_, 100, "key:", text);
        return text.str();
    }
    bool has(std::string const& line) const { return operations().find(line) != std::string::npos; }

private:
    std::vector<event> all_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(history_operations)

BOOST_AUTO_TEST_CASE(a_section)
{
    auto all = told_operations{}.gets().then(what::used, 30, 115);
    all.last().done = 31;
    all.last().accepted = true;
    all.last().order = 4;
    all.then(what::left, 40, 115).then(what::released, 50);
    all.last().well = true;
    BOOST_TEST(
        all.operations() ==
        R"({"op":"write","name":"key:3","hold":"1.2","token":7,"call":30,"return":31,"taken":true,"order":4}
{"op":"acquire","name":"key:3","hold":"1.2","call":10,"return":20,"admitted":15,"tokens":[7]}
{"op":"release","name":"key:3","hold":"1.2","call":40,"return":50}
)"
    );
}

BOOST_AUTO_TEST_CASE(a_hold_ends_at_the_earliest_moment_that_is_known)
{
    auto const told = told_operations{}.gets().then(what::told, 60).then(what::left, 70);
    BOOST_TEST(told.has(R"("end","name":"key:3","hold":"1.2","call":60,"why":"told"})"));
    auto const over = told_operations{}.gets().then(what::told, 160).then(what::left, 170);
    BOOST_TEST(over.has(R"("call":115,"why":"over"})"));
    auto const renewed = told_operations{}.gets().then(what::used, 100, 190).then(what::told, 160);
    BOOST_TEST(renewed.has(R"("call":160,"why":"told"})"));
    auto const failed = told_operations{}.gets().then(what::left, 70).then(what::released, 80);
    BOOST_TEST(failed.has(R"("call":70,"why":"left"})"));
}

// Its release, and a write, may have been noted no more.
BOOST_AUTO_TEST_CASE(the_killed)
{
    auto const inside = told_operations{}.gets().then(what::killed, 60);
    BOOST_TEST(inside.has(R"("call":60,"why":"killed"})"));
    BOOST_TEST(inside.has(R"("write","name":"key:3","hold":"1.2","token":7,"call":20})"));
    auto const leaving = told_operations{}.gets().then(what::left, 50).then(what::killed, 60);
    BOOST_TEST(leaving.has(R"("call":50,"why":"left"})"));
    BOOST_TEST(!leaving.has("write"));
    BOOST_TEST(told_operations{}.then(what::asked, 10).then(what::killed, 60).operations().empty());
}

BOOST_AUTO_TEST_CASE(what_a_server_loses)
{
    auto one = told_operations{}.then(what::taken, 20, 10);
    BOOST_TEST(
        one.operations() == "{\"op\":\"lose\",\"name\":\"key:3\",\"call\":10,\"return\":20}\n"
    );
    one.last().key = every_key;
    BOOST_TEST(one.operations() == "{\"op\":\"lose\",\"call\":10,\"return\":20}\n");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
