// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// When a silent server is asked whether it is there, and when it counts as gone.
#include "unit/resp/conversation.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <utility>
#include <vector>

namespace colock::test {

namespace {

using looks = std::vector<std::pair<clock::duration, verdict>>;

BOOST_AUTO_TEST_SUITE(resp_pipeline_time)

BOOST_AUTO_TEST_CASE(a_silent_server_is_asked_and_looked_for_twice)
{
    conversation c{{.silence = 2s, .loss = 1h}};
    BOOST_TEST((c.line.next_look() == time_point{2s}));
    looks const wanted{{2s, verdict::write}, {3s, verdict::fine}, {4s, verdict::silent}};
    BOOST_TEST((c.look_until(10s) == wanted));
    BOOST_TEST(c.sent() == "['PING' '1']");
    BOOST_TEST((c.look() == verdict::silent));
}

std::string part(std::size_t bytes) { return std::string(bytes, 'x'); }

BOOST_AUTO_TEST_CASE(a_message_and_a_large_part_of_one_end_the_silence)
{
    for (auto const& bytes :
         {std::string{"+1\r\n"}, std::string{">0\r\n"}, "$5000\r\n" + part(1'017)}) {
        conversation c{{.silence = 2s, .loss = 1h}};
        c.now += 2s;
        BOOST_TEST((c.look() == verdict::write));
        c.now += 1s;
        BOOST_TEST((c.look() == verdict::fine));
        c.now += 900ms;
        BOOST_TEST(!c.receive(bytes));
        BOOST_TEST((c.line.heard() == c.now));
        BOOST_TEST((c.line.next_look() == c.now + 2s));
        c.now += 1'999ms;
        BOOST_TEST((c.look() == verdict::fine));
        c.now += 1ms;
        BOOST_TEST((c.look() == verdict::write));
    }
}

// A reply that comes byte by byte, and never ends.
BOOST_AUTO_TEST_CASE(a_reply_that_drips_is_silence)
{
    conversation c{{.silence = 2s, .loss = 1h}};
    BOOST_TEST(!c.receive(">0\r\n$5000\r\n"));
    std::vector<verdict> said;
    for (int second = 0; second != 4; ++second) {
        c.now += 1s;
        BOOST_TEST(!c.receive(part(254)));
        said.push_back(c.look());
    }
    using enum verdict;
    BOOST_TEST((said == std::vector{fine, write, fine, silent}));

    BOOST_TEST(!c.receive(part(8)));  // 1,024 bytes since the last message
    BOOST_TEST((c.line.next_look() == c.now + 2s));
}

// A process that was stopped finds the answer in its socket when it goes on.
BOOST_AUTO_TEST_CASE(one_late_look_gives_no_connection_up)
{
    conversation c{{.silence = 2s, .loss = 10h}};
    c.now += 2s;
    BOOST_TEST((c.look() == verdict::write));
    c.now += 1h;
    BOOST_TEST((c.look() == verdict::fine));
    BOOST_TEST((c.line.next_look() == c.now + 1s));
    BOOST_TEST(!c.receive("+1\r\n"));
    c.now += 1s;
    BOOST_TEST((c.look() == verdict::fine));
}

BOOST_AUTO_TEST_CASE(the_silence_begins_with_the_connection)
{
    conversation c{{.silence = 2s}};
    c.now += 1h;
    c.line.begin(c.now);
    BOOST_TEST((c.look() == verdict::fine));
    BOOST_TEST((c.line.next_look() == c.now + 2s));
}

BOOST_AUTO_TEST_CASE(a_late_answer_is_followed_by_one_ping)
{
    conversation c{{.silence = 2s, .loss = 2ms}};
    noting_handler h;
    BOOST_TEST((c.line.next_look() == time_point{2s}));  // nothing is owed
    c.now += 100ms;
    c.ask(&h, "GET", "a");
    c.sent();
    BOOST_TEST((c.line.next_look() == c.now + 2ms));
    c.now += 1ms;
    BOOST_TEST((c.look() == verdict::fine));
    c.now += 1ms;
    BOOST_TEST((c.look() == verdict::write));
    BOOST_TEST(c.sent() == "['PING' '1']");
    // Once in a silence, though more is asked.
    c.ask(&h, "GET", "b");
    BOOST_TEST((c.line.next_look() == time_point{2s}));
    c.now += 50ms;
    BOOST_TEST((c.look() == verdict::fine));
    BOOST_TEST(c.line.has_output());
    // What comes ends the silence; the next one has its own PING.
    BOOST_TEST(!c.receive("+a\r\n"));
    auto const limit = 3 * c.line.round_trip();
    BOOST_TEST((c.line.next_look() == c.now + limit));
    c.now += limit;
    BOOST_TEST((c.look() == verdict::write));
    BOOST_TEST(!c.receive("+1\r\n+b\r\n+2\r\n"));
    BOOST_TEST(c.line.is_idle());
    BOOST_TEST(h.got.size() == 2U);
    BOOST_TEST((c.line.next_look() == c.now + 2s));
}

BOOST_AUTO_TEST_CASE(an_answer_is_late_after_three_round_trips)
{
    conversation c{{.silence = 2s, .loss = 2ms}};
    c.ask(nullptr, "GET", "a");
    c.now += 10ms;
    BOOST_TEST(!c.receive("+a\r\n"));
    BOOST_TEST((c.line.round_trip() == 10ms));
    c.ask(nullptr, "GET", "b");
    BOOST_TEST((c.line.next_look() == c.now + 30ms));
    c.now += 29ms;
    BOOST_TEST((c.look() == verdict::fine));
    c.now += 1ms;
    BOOST_TEST((c.look() == verdict::write));
}

BOOST_AUTO_TEST_CASE(the_round_trip_is_smoothed)
{
    conversation c;
    auto const exchange = [&](clock::duration took) {
        c.ask(nullptr, "GET", "a");
        c.now += took;
        BOOST_TEST(!c.receive("+a\r\n"));
    };
    BOOST_TEST((c.line.round_trip() == 0ms));
    exchange(8ms);
    exchange(16ms);
    BOOST_TEST((c.line.round_trip() == 9ms));
    for (int i = 0; i != 200; ++i)
        exchange(1ms);
    BOOST_TEST((c.line.round_trip() >= 1ms && c.line.round_trip() < 1'001us));
}

// Of commands that were written together, the first answer tells.
BOOST_AUTO_TEST_CASE(a_batch_is_measured_by_its_first_answer)
{
    conversation c;
    c.line.out().push("GET", "a");
    c.line.out().push("GET", "b");
    c.line.expect(nullptr, c.now);
    c.now += 4ms;
    BOOST_TEST(!c.receive("+a\r\n"));
    c.now += 500ms;
    BOOST_TEST(!c.receive("+b\r\n"));
    BOOST_TEST((c.line.round_trip() == 4ms));
}

BOOST_AUTO_TEST_CASE(a_reply_before_its_command_is_no_round_trip)
{
    conversation c;
    noting_handler h;
    c.ask(&h, "GET", "a");
    h.then = [&] { c.line.expect((c.line.out().push("GET", "b"), nullptr), c.now + 1h); };
    c.now += 5ms;
    BOOST_TEST(!c.receive("+a\r\n+b\r\n"));
    BOOST_TEST((c.line.round_trip() >= 0ms && c.line.round_trip() <= 5ms));
}

BOOST_AUTO_TEST_CASE(looks_come_to_an_end_whatever_is_owed)
{
    for (auto const silence : {clock::duration{1ms}, clock::duration{2s}}) {
        conversation c{{.silence = silence, .loss = 2ms}};
        c.ask(nullptr, "GET", "a");
        auto const seen = c.look_until(1h);
        BOOST_TEST(seen.size() <= 4U);
        BOOST_TEST((seen.back() == std::pair{2 * silence, verdict::silent}));
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
