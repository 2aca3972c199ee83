// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What a server can make the parser take.
#include "support/thread_sanitizer.hpp"
#include "unit/resp/allocations.hpp"
#include "unit/resp/parsing.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <string_view>

namespace colock::test {

namespace {

constexpr std::size_t KiB = 1'024;
constexpr std::size_t MiB = 1'024 * KiB;

std::string repeated(std::string_view what, std::size_t times)
{
    std::string all;
    all.reserve(what.size() * times);
    for (std::size_t i = 0; i != times; ++i)
        all += what;
    return all;
}

std::string string_of(std::size_t size)
{
    return "$" + std::to_string(size) + "\r\n" + std::string(size, 'x') + "\r\n";
}

/// However it is cut, it is whole or broken.
void check(std::string const& wire, resp::limits most, bool is_broken)
{
    BOOST_TEST(parse(wire, most).is_broken == is_broken, wire.substr(0, 40));
    BOOST_TEST(parse(wire, most).messages.size() == (is_broken ? 0U : 1U));
    BOOST_TEST(parse_in_pieces(wire, 1, most) == parse(wire, most));
    for (std::size_t at = 1; at < std::min<std::size_t>(wire.size(), 200); ++at) {
        BOOST_TEST(parse_cut(wire, at, most) == parse(wire, most));
        BOOST_TEST(parse_cut(wire, wire.size() - at, most) == parse(wire, most));
    }
}

BOOST_AUTO_TEST_SUITE(resp_parser_limits)

BOOST_AUTO_TEST_CASE(a_string_has_so_many_bytes)
{
    check(string_of(10), {.string_bytes = 10}, false);
    check(string_of(11), {.string_bytes = 10}, true);
    // The header alone says it.
    BOOST_TEST(parse("$11\r\n", {.string_bytes = 10}).is_broken);
}

BOOST_AUTO_TEST_CASE(a_message_has_so_many_bytes)
{
    for (std::string const wire :
         {"+abcdefgh\r\n",
          "*2\r\n:1\r\n+ab\r\n",
          "$5\r\nhello\r\n",
          "*1\r\n$2\r\nab\r\n",
          "|1\r\n:1\r\n:2\r\n:3\r\n",
          "|0\r\n|0\r\n|0\r\n:1\r\n",
          "*0\r\n"}) {
        check(wire, {.message_bytes = wire.size()}, false);
        check(wire, {.message_bytes = wire.size() - 1}, true);
        // Of one message, not of all of them.
        BOOST_TEST(
            parse(repeated(wire, 50), {.message_bytes = wire.size()}).messages.size() == 50U
        );
    }
    BOOST_TEST(parse(repeated("|0\r\n", 100), {.message_bytes = 100}).is_broken);
    BOOST_TEST(parse(repeated("|1\r\n+a\r\n+b\r\n", 100), {.message_bytes = 100}).is_broken);
    BOOST_TEST(parse("$50\r\n", {.message_bytes = 50}).is_broken);
}

BOOST_AUTO_TEST_CASE(a_line_has_64_KiB)
{
    check("+" + std::string(64 * KiB, 'x') + "\r\n", {}, false);
    check("+" + std::string(64 * KiB + 1, 'x') + "\r\n", {}, true);
    BOOST_TEST(parse(std::string(64 * KiB + 3, '+')).is_broken);
}

BOOST_AUTO_TEST_CASE(a_message_has_so_many_elements)
{
    auto const four = repeated(":1\r\n", 4);
    check("*4\r\n" + four, {.elements = 4}, false);
    check("*5\r\n:1\r\n" + four, {.elements = 4}, true);
    check("%2\r\n" + four, {.elements = 4}, false);
    check("*3\r\n*1\r\n:1\r\n:2\r\n:3\r\n", {.elements = 4}, false);
    check("*3\r\n*2\r\n:1\r\n:2\r\n:3\r\n:4\r\n", {.elements = 4}, true);
    check("$1\r\na\r\n", {.elements = 0}, false);
    check("*0\r\n", {.elements = 0}, false);
    // The header alone says it, of pairs too.
    BOOST_TEST(parse("*5\r\n", {.elements = 4}).is_broken);
    BOOST_TEST(parse("%3\r\n", {.elements = 4}).is_broken);
    BOOST_TEST(parse("|3\r\n", {.elements = 4}).is_broken);
}

BOOST_AUTO_TEST_CASE(lists_are_so_deep)
{
    for (std::string const header : {"*1\r\n", "~1\r\n", "%1\r\n:1\r\n"}) {
        check(repeated(header, 3) + ":1\r\n", {.depth = 3}, false);
        check(repeated(header, 4) + ":1\r\n", {.depth = 3}, true);
        check(repeated(header, 3) + "*0\r\n", {.depth = 3}, true);
    }
    check(":1\r\n", {.depth = 0}, false);
    check("*0\r\n", {.depth = 0}, true);
    check("|1\r\n:1\r\n|1\r\n:1\r\n:1\r\n:2\r\n:3\r\n", {.depth = 2}, false);
    check("|1\r\n:1\r\n|1\r\n:1\r\n:1\r\n:2\r\n:3\r\n", {.depth = 1}, true);
    // No limit is beyond what the parser has room for.
    check(repeated("*1\r\n", resp::limits::deepest) + ":1\r\n", {.depth = 1'000}, false);
    check(repeated("*1\r\n", resp::limits::deepest + 1) + ":1\r\n", {.depth = 1'000}, true);
}

BOOST_AUTO_TEST_CASE(a_limit_that_is_lowered_within_a_message_holds)
{
    feeder f;
    f.feed(repeated("*1\r\n", 5));
    f.parser().set_limits({.depth = 2});
    f.feed(repeated("*1\r\n", 50));
    BOOST_TEST(f.seen().is_broken);
}

BOOST_AUTO_TEST_CASE(a_promise_takes_no_memory)
{
    for (std::string const header :
         {"$62914560\r\n", "*1048576\r\n", "*1\r\n*1\r\n%524288\r\n$62914560\r\n"}) {
        auto const before = allocations::so_far();
        feeder f;
        f.feed(header + "abc");
        f.parser().prepare();
        BOOST_TEST(!f.seen().is_broken);
        BOOST_TEST(f.parser().capacity() < 128 * KiB);
        BOOST_TEST(allocations::so_far().since(before).bytes < 256 * KiB);
    }
}

BOOST_AUTO_TEST_CASE(memory_grows_with_what_comes_and_is_given_back)
{
    feeder f;
    auto const wire = string_of(60 * MiB);
    for (std::size_t at = 0; at < wire.size(); at += 64 * KiB) {
        f.feed(std::string_view{wire}.substr(at, 64 * KiB));
        BOOST_TEST_REQUIRE(f.parser().capacity() <= 2 * (at + 192 * KiB));
    }
    BOOST_TEST(f.seen().messages.size() == 1U);
    f.parser().prepare();
    BOOST_TEST(f.parser().capacity() < 16 * KiB);
}

BOOST_AUTO_TEST_CASE(memory_is_given_back_though_the_next_message_has_begun)
{
    feeder f;
    f.feed(string_of(10 * MiB) + ":12");
    f.parser().prepare();
    BOOST_TEST(f.parser().capacity() < 16 * KiB);
    f.feed("3\r\n");
    BOOST_TEST(f.seen().messages.back() == "123");
}

BOOST_AUTO_TEST_CASE(the_memory_of_many_elements_is_given_back)
{
    feeder f;
    f.feed("*1000000\r\n" + repeated("_\r\n", 1'000'000));
    BOOST_TEST(f.seen().messages.size() == 1U);
    f.parser().prepare();
    BOOST_TEST(f.parser().capacity() < 16 * KiB);
}

BOOST_AUTO_TEST_CASE(the_memory_of_fewer_elements_is_given_back_when_asked)
{
    feeder f;
    f.feed("*4000\r\n" + repeated("_\r\n", 4'000));
    BOOST_TEST(f.parser().capacity() > 64 * KiB);
    f.feed("*4000\r\n" + repeated("_\r\n", 1'000));
    f.parser().shrink(4 * KiB);  // a message has begun
    f.feed(repeated("_\r\n", 3'000));
    BOOST_TEST(f.seen().messages.size() == 2U);
    f.parser().shrink(4 * KiB);
    BOOST_TEST(f.parser().capacity() < 64 * KiB);
    f.feed(":123\r\n");
    BOOST_TEST(f.seen().messages.back() == "123");
}

#ifndef COLOCK_THREAD_SANITIZER

BOOST_AUTO_TEST_CASE(a_message_without_memory_breaks_it)
{
    std::string_view const wire = "*3\r\n:1\r\n:2\r\n:3\r\n";
    for (std::size_t granted = 0; granted != 4; ++granted) {
        resp::parser p;
        auto const room = p.prepare();
        std::memcpy(room.data(), wire.data(), wire.size());
        p.commit(wire.size());
        allocations::refuse_after(granted);
        BOOST_CHECK_THROW(p.next(), std::bad_alloc);
        BOOST_TEST((p.next() == resp::parser::outcome::broken));
    }
}

#endif

// A long list of short strings, in small pieces: a byte is copied a few times at most.
BOOST_AUTO_TEST_CASE(growing_takes_linear_work)
{
    auto const wire = "*300000\r\n" + repeated("$1\r\na\r\n", 300'000);
    auto const before = allocations::so_far();
    feeder f;
    for (std::size_t at = 0; at < wire.size(); at += 1'000)
        f.feed(std::string_view{wire}.substr(at, 1'000));
    BOOST_TEST(f.seen().messages.size() == 1U);
    resp::parser p;
    std::size_t rooms = 0;
    for (std::size_t at = 0; at < wire.size(); ++rooms) {
        auto const room = p.prepare();
        auto const size = std::min(room.size(), wire.size() - at);
        std::memcpy(room.data(), wire.data() + at, size);
        p.commit(size);
        at += size;
        p.next();
    }
    BOOST_TEST(p.last().nodes().size() == 300'001U);
    BOOST_TEST(rooms < 200U);
    BOOST_TEST(allocations::so_far().since(before).bytes < 300 * MiB);
}

BOOST_AUTO_TEST_CASE(messages_of_a_common_size_allocate_once)
{
    feeder f;
    auto const wire = "*3\r\n:1\r\n$20\r\n" + std::string(20, 'x') + "\r\n+OK\r\n";
    auto const read = [&] {
        for (std::string_view rest = wire; !rest.empty();) {
            auto const room = f.parser().prepare();
            auto const size = std::min<std::size_t>(rest.size(), 7);
            std::memcpy(room.data(), rest.data(), size);
            f.parser().commit(size);
            rest.remove_prefix(size);
            while (f.parser().next() == resp::parser::outcome::message) {}
        }
    };
    read();
    auto const before = allocations::so_far();
    for (int i = 0; i != 10'000; ++i)
        read();
    BOOST_TEST(allocations::so_far().since(before).count == 0U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
