// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Whose reply is whose, and what handlers may do.
#include "unit/resp/allocations.hpp"
#include "unit/resp/conversation.hpp"

#include <boost/asio/error.hpp>
#include <boost/test/unit_test.hpp>

#include <memory>
#include <string>
#include <vector>

namespace colock::test {

namespace {

using strings = std::vector<std::string>;
error_code const cut_off = boost::asio::error::eof;
std::string const lost = "lost: " + cut_off.message();

BOOST_AUTO_TEST_SUITE(resp_pipeline)

BOOST_AUTO_TEST_CASE(the_set_up_is_a_first_exchange)
{
    conversation c{{}, {.message_bytes = 100}};
    noting_handler set_up, call;
    c.line.out().push("HELLO", 3);
    c.line.out().push("CLIENT", "SETNAME", "x");
    c.line.expect(&set_up, c.now);
    BOOST_TEST(c.sent() == "['HELLO' '3']['CLIENT' 'SETNAME' 'x']");
    BOOST_TEST(!c.line.is_idle());
    set_up.then = [&] {
        if (set_up.got.size() != 2)
            return;
        c.line.set_limits({});
        c.ask(&call, "GET", "k");
    };
    BOOST_TEST(!c.receive("%1\r\n+server\r\n+redis\r\n+OK\r\n"));
    BOOST_TEST(
        set_up.got == (strings{"['server' 'redis']", "'OK'"}), boost::test_tools::per_element()
    );
    BOOST_TEST(c.sent() == "['GET' 'k']");
    BOOST_TEST(!c.receive("$200\r\n" + std::string(200, 'x') + "\r\n"));
    BOOST_TEST(call.got.size() == 1U);
    BOOST_TEST(c.line.is_idle());
}

BOOST_AUTO_TEST_CASE(replies_come_in_the_order_of_the_commands)
{
    conversation c;
    std::vector<noting_handler> all(100);
    std::string wire;
    for (int i = 0; i != 100; ++i) {
        c.ask(i % 3 == 0 ? nullptr : &all[i], "GET", i);
        wire += ":" + std::to_string(i) + "\r\n";
    }
    BOOST_TEST(c.line.has_output());
    c.sent();
    BOOST_TEST(!c.line.has_output());
    for (auto const each : wire)
        BOOST_TEST_REQUIRE(!c.receive({&each, 1}));
    for (int i = 0; i != 100; ++i)
        BOOST_TEST(all[i].got == (i % 3 == 0 ? strings{} : strings{std::to_string(i)}));
    BOOST_TEST(c.line.is_idle());
}

BOOST_AUTO_TEST_CASE(output_may_be_taken_before_the_reply_is_expected)
{
    conversation c;
    noting_handler h;
    c.line.out().push("GET", "a");
    BOOST_TEST(c.sent() == "['GET' 'a']");
    c.line.out().push("GET", "b");
    c.line.expect(&h, c.now);
    c.line.expect(&h, c.now);  // nothing new
    BOOST_TEST(!c.receive("+a\r\n+b\r\n"));
    BOOST_TEST(h.got == (strings{"'a'", "'b'"}));
    BOOST_TEST((c.receive("+c\r\n") == error::bad_reply));
}

BOOST_AUTO_TEST_CASE(pushes_come_between_replies)
{
    conversation c;
    noting_handler h;
    c.ask(&h, "GET", "a");
    c.ask(&h, "GET", "b");
    BOOST_TEST(!c.receive(">1\r\n+x\r\n:1\r\n>1\r\n+y\r\n>0\r\n:2\r\n>1\r\n+z\r\n"));
    BOOST_TEST(h.got == (strings{"1", "2"}));
    BOOST_TEST(c.pushes.got == (strings{">['x']", ">['y']", ">[]", ">['z']"}));
    resp::pipeline deaf{{}, {}, nullptr};
    auto const room = deaf.prepare();
    std::memcpy(room.data(), ">0\r\n", 4);
    BOOST_TEST(!deaf.received(4, c.now));
}

BOOST_AUTO_TEST_CASE(a_push_answers_a_subscription)
{
    conversation c;
    noting_handler before, subscription, after;
    c.ask(&before, "GET", "a");
    c.subscribe(subscription);
    c.ask(&after, "GET", "b");
    auto const answer = std::string{">3\r\n+subscribe\r\n+c\r\n:1\r\n"};
    // Whatever it says, it answers nothing before the reply that comes first.
    BOOST_TEST(!c.receive(answer));
    BOOST_TEST(c.pushes.got.size() == 1U);
    BOOST_TEST(!c.receive(":1\r\n>3\r\n+subscribe\r\n+other\r\n:1\r\n>2\r\n+message\r\n+c\r\n"));
    BOOST_TEST(c.pushes.got.size() == 3U);
    BOOST_TEST(subscription.got.empty());
    BOOST_TEST(!c.receive(answer + ":2\r\n"));
    BOOST_TEST(before.got == strings{"1"});
    BOOST_TEST(subscription.got == strings{">['subscribe' 'c' 1]"});
    BOOST_TEST(after.got == strings{"2"});
    BOOST_TEST(c.pushes.got.size() == 3U);
}

BOOST_AUTO_TEST_CASE(an_error_answers_a_subscription_too)
{
    conversation c;
    noting_handler subscription, after;
    c.subscribe(subscription);
    c.ask(&after, "GET", "b");
    BOOST_TEST(!c.receive("-NOPERM no\r\n:2\r\n"));
    BOOST_TEST(subscription.got == strings{"!NOPERM no"});
    BOOST_TEST(after.got == strings{"2"});

    c.subscribe(subscription);
    BOOST_TEST((c.receive("+OK\r\n") == error::bad_reply));
    BOOST_TEST(subscription.got.size() == 1U);
}

BOOST_AUTO_TEST_CASE(errors_are_replies)
{
    conversation c;
    noting_handler h;
    c.ask(&h, "GET", "a");
    c.ask(&h, "GET", "b");
    c.ask(&h, "EVAL", "b");
    BOOST_TEST(!c.receive("-ERR a\r\n!5\r\nERR b\r\n*1\r\n-ERR c\r\n"));
    BOOST_TEST(h.got == (strings{"!ERR a", "!ERR b", "[!ERR c]"}));
}

BOOST_AUTO_TEST_CASE(a_reply_that_nobody_is_owed_ends_it)
{
    conversation c;
    noting_handler h;
    BOOST_TEST((c.receive(":1\r\n") == error::bad_reply));
    conversation d;
    d.ask(&h, "GET", "a");
    BOOST_TEST((d.receive(":1\r\n:2\r\n") == error::bad_reply));
    BOOST_TEST(h.got == strings{"1"});
    BOOST_TEST(!d.line.is_failed());
}

BOOST_AUTO_TEST_CASE(what_is_no_resp_ends_it)
{
    conversation c;
    noting_handler h;
    c.ask(&h, "GET", "a");
    BOOST_TEST((c.receive("HTTP/1.1 400 Bad Request\r\n") == error::bad_reply));
    BOOST_TEST(c.line.complaint());
    BOOST_TEST(h.got.empty());
    c.line.fail(error::bad_reply);
    BOOST_TEST(h.got.size() == 1U);
}

BOOST_AUTO_TEST_CASE(whoever_is_owed_a_reply_hears_of_the_end_once)
{
    conversation c;
    noting_handler done, half, none;
    c.ask(&done, "GET", "a");
    c.line.out().push("GET", "b");
    c.line.out().push("GET", "c");
    c.line.expect(&half, c.now);
    c.ask(nullptr, "PING");
    c.ask(&none, "GET", "d");
    c.ask(&none, "GET", "e");
    BOOST_TEST(!c.receive(":1\r\n:2\r\n$10\r\nhalf of"));
    c.line.fail(cut_off);
    c.line.fail(error::closed);
    BOOST_TEST(done.got == strings{"1"});
    BOOST_TEST(half.got == (strings{"2", lost}));
    BOOST_TEST(none.got == (strings{lost, lost}));  // for each `expect`
    BOOST_TEST(c.line.is_failed());
    BOOST_TEST(c.line.is_idle());
}

BOOST_AUTO_TEST_CASE(a_failed_pipeline_owes_nothing)
{
    conversation c;
    noting_handler first, second;
    c.ask(&first, "GET", "a");
    // Whoever writes again when it is lost hears of that at once.
    first.then = [&] {
        c.ask(&second, "GET", "a");
        c.ask(nullptr, "GET", "a");
    };
    c.line.fail(cut_off);
    BOOST_TEST(first.got == strings{lost});
    BOOST_TEST(second.got == strings{lost});
    BOOST_TEST(c.line.is_idle());
    BOOST_TEST((c.receive(":1\r\n") == cut_off));
    BOOST_TEST(second.got.size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_handler_writes_more)
{
    conversation c;
    noting_handler h;
    int written = 1;
    c.ask(&h, "GET", 0);
    h.then = [&] {
        for (int i = 0; i != 3 && written != 1'000; ++i)
            c.ask(&h, "GET", written++);
    };
    int replies = 0;
    while (!c.line.is_idle()) {
        c.sent();
        BOOST_TEST_REQUIRE(!c.receive(":" + std::to_string(replies++) + "\r\n"));
    }
    BOOST_TEST(h.got.size() == 1'000U);
    BOOST_TEST(h.got.back() == "999");
}

BOOST_AUTO_TEST_CASE(a_handler_fails_the_pipeline)
{
    conversation c;
    noting_handler h, other;
    c.ask(&h, "GET", "a");
    c.ask(&other, "GET", "b");
    h.then = [&] { c.line.fail(cut_off); };
    BOOST_TEST((c.receive(":1\r\n:2\r\n:3\r\n") == cut_off));
    BOOST_TEST(h.got == strings{"1"});
    BOOST_TEST(other.got == strings{lost});

    conversation d;
    d.ask(&other, "GET", "b");
    d.pushes.then = [&] { d.line.fail(cut_off); };
    BOOST_TEST((d.receive(">0\r\n:2\r\n>0\r\n") == cut_off));
    BOOST_TEST(d.pushes.got.size() == 1U);
    BOOST_TEST(other.got == (strings{lost, lost}));
}

BOOST_AUTO_TEST_CASE(a_handler_may_go_with_its_last_reply)
{
    conversation c;
    auto h = std::make_unique<noting_handler>();
    auto other = std::make_unique<noting_handler>();
    c.ask(h.get(), "GET", "a");
    c.ask(h.get(), "GET", "b");
    c.ask(other.get(), "GET", "c");
    h->then = [&, left = 2]() mutable {
        if (--left == 0) {
            auto const going = std::move(h);
            c.line.fail(cut_off);
        }
    };
    other->then = [&] { auto const going = std::move(other); };
    BOOST_TEST((c.receive(":1\r\n:2\r\n:3\r\n") == cut_off));
    BOOST_TEST(!h);
    BOOST_TEST(!other);
}

// ---- Numbers -----------------------------------------------------------------------------------

/// Writes a call with a number.
void call(conversation& c, noting_handler& who)
{
    c.line.out().begin(2);
    c.line.out().add("CALL");
    c.line.out().add(c.line.number());
    c.line.expect(&who, c.now);
}

BOOST_AUTO_TEST_CASE(a_handler_gets_its_reply_without_the_number)
{
    conversation c;
    noting_handler h;
    call(c, h);
    c.ask(&h, "GET", "a");
    call(c, h);
    c.line.write_ping();
    c.line.expect(&h, c.now);
    BOOST_TEST(c.sent() == "['CALL' '1']['GET' 'a']['CALL' '2']['PING' '3']");
    BOOST_TEST(!c.receive("*3\r\n$1\r\n1\r\n:7\r\n_\r\n+a\r\n"));
    BOOST_TEST(!c.receive("*1\r\n$1\r\n2\r\n$1\r\n3\r\n"));
    call(c, h);
    BOOST_TEST(!c.receive("*4\r\n$1\r\n4\r\n*2\r\n:1\r\n*0\r\n-ERR x\r\n_\r\n"));
    BOOST_TEST(h.got.size() == 5U);
    BOOST_TEST(h.got.front() == "[7 nil]", h.got.front());
    BOOST_TEST(h.got[2] == "[]");
    BOOST_TEST(h.got[3] == "'3'");
    BOOST_TEST(h.got[4] == "[[1 []] !ERR x nil]", h.got[4]);
    BOOST_TEST(c.line.is_idle());
}

// One reply is missing, came twice, or changed its place with the next one.
BOOST_AUTO_TEST_CASE(no_handler_gets_the_reply_to_another_call)
{
    auto const reply = [](int number) {
        return "*2\r\n$1\r\n" + std::to_string(number) + "\r\n:" + std::to_string(number) + "\r\n";
    };
    std::string const pong = "$1\r\n3\r\n";
    struct {
        std::string bytes;
        std::size_t believed;
    } const cases[]{
        {reply(2), 0},
        {pong, 0},
        {reply(1) + reply(1), 1},
        {reply(1) + pong, 1},
        {reply(1) + reply(2) + reply(2), 2},
        {reply(1) + reply(2) + "+PONG\r\n", 2},
        {reply(1) + reply(2) + pong + pong, 3},
        {reply(1) + ":2\r\n", 1},
        {reply(1) + "*2\r\n:2\r\n:2\r\n", 1},
        {reply(1) + "*0\r\n", 1},
        {reply(1) + "*1\r\n*1\r\n$1\r\n2\r\n", 1},
    };
    for (auto const& each : cases) {
        conversation c;
        noting_handler h;
        call(c, h);
        call(c, h);
        c.line.write_ping();
        c.line.expect(&h, c.now);
        BOOST_TEST((c.receive(each.bytes) == error::bad_reply), each.bytes);
        BOOST_TEST(c.line.is_out_of_step());
        BOOST_TEST(h.got.size() == each.believed, each.bytes);
    }
}

BOOST_AUTO_TEST_CASE(an_error_takes_the_place_of_a_reply_with_a_number)
{
    conversation c;
    noting_handler h;
    call(c, h);
    call(c, h);
    BOOST_TEST(!c.receive("-BUSY\r\n*2\r\n$1\r\n2\r\n:1\r\n"));
    BOOST_TEST(h.got.size() == 2U);
    // If it was the error of the second call, the next reply tells.
    conversation d;
    noting_handler i;
    for (int n = 0; n != 3; ++n)
        call(d, i);
    BOOST_TEST((d.receive("-BUSY\r\n*2\r\n$1\r\n3\r\n:1\r\n") == error::bad_reply));
    BOOST_TEST(i.got.size() == 1U);
}

BOOST_AUTO_TEST_CASE(numbers_begin_where_they_are_told_to)
{
    resp::pipeline line{{}, {}, nullptr, 41};
    line.write_ping();
    line.write_ping();
    BOOST_TEST(line.out().bytes().find("42") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(a_lone_command_has_the_server_for_itself)
{
    conversation c;
    noting_handler before, login, after;
    auto const write_login = [&] {
        resp::writer auth;
        auth.push("AUTH", "secret");
        c.line.write_alone(std::move(auth));
        c.line.expect(&login, c.now);
    };
    c.ask(&before, "GET", "a");
    BOOST_TEST(c.sent() == "['GET' 'a']");
    c.ask(&before, "GET", "b");
    write_login();
    c.ask(&after, "GET", "c");
    BOOST_TEST(c.line.has_output());
    BOOST_TEST(c.sent() == "['GET' 'b']");
    BOOST_TEST(!c.line.has_output());
    BOOST_TEST(!c.receive("+a\r\n"));
    BOOST_TEST(!c.line.has_output());
    BOOST_TEST(!c.receive("+b\r\n"));
    std::string bytes;
    BOOST_TEST(c.line.take_output(bytes));
    BOOST_TEST(bytes.ends_with("secret\r\n"));
    c.ask(&after, "GET", "d");
    BOOST_TEST(!c.line.has_output());
    BOOST_TEST(c.sent() == "");
    BOOST_TEST(!c.receive("+OK\r\n"));
    BOOST_TEST(c.sent() == "['GET' 'c']['GET' 'd']");
    BOOST_TEST(!c.receive("+c\r\n+d\r\n"));
    BOOST_TEST(login.got == strings{"'OK'"});
    BOOST_TEST(after.got.size() == 2U);
    // If nothing is under way it goes at once.
    write_login();
    BOOST_TEST(c.line.take_output(bytes));
    BOOST_TEST(!c.receive("-WRONGPASS\r\n"));
    BOOST_TEST(login.got.size() == 2U);
    BOOST_TEST(c.line.is_idle());
}

BOOST_AUTO_TEST_CASE(a_steady_conversation_allocates_nothing)
{
    struct counting final : resp::reply_handler {
        std::size_t replies = 0;
        void on_reply(resp::message const&) override { ++replies; }
        void on_lost(error_code) override {}
    } h;
    conversation c;
    std::string output;
    std::uint64_t next = 1;
    auto const ask = [&] {
        c.line.out().begin(3);
        c.line.out().add("EVALSHA");
        c.line.out().add("0123456789012345678901234567890123456789");
        c.line.out().add(c.line.number());
        c.line.expect(&h, c.now);
        c.now += 1us;
    };
    auto const round = [&](int commands) {
        for (int i = 0; i != commands; ++i)
            ask();
        c.line.take_output(output);
        for (int i = 0; i != commands; ++i) {
            auto const digits = std::to_string(next++);  // short enough to allocate nothing
            c.receive("*2\r\n$");
            c.receive(std::to_string(digits.size()));
            c.receive("\r\n");
            c.receive(digits);
            c.receive("\r\n$3\r\nabc\r\n");
        }
    };
    // One command stays owed, so that what is owed never empties.
    ask();
    for (int i = 0; i != 100; ++i)
        round(20);
    auto const before = allocations::so_far();
    for (int i = 0; i != 1'000; ++i)
        round(20);
    BOOST_TEST(allocations::so_far().since(before).count == 0U);
    BOOST_TEST(h.replies == 22'000U);
    BOOST_TEST(!c.line.is_idle());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
