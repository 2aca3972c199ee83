// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "redis/any_command.hpp"
#include "unit/redis/link_rig.hpp"

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace colock::test {

namespace {

using words = std::vector<std::string>;

BOOST_FIXTURE_TEST_SUITE(redis_call_batch, steps_to_send)

BOOST_AUTO_TEST_CASE(steps_of_one_script_go_in_one_call)
{
    add(scripts::renew, "a", {"f1", "100"});
    add(scripts::renew, "b", {"f2", "200"});
    sent_batch batch{waiting, {}};
    BOOST_TEST(waiting.empty());
    auto const sent = batch.commands;
    BOOST_TEST_REQUIRE(sent.size() == 1U);
    BOOST_TEST(
        sent[0] ==
            (words{
                "EVALSHA",
                std::string{scripts::renew.sha1},
                "2",
                "a",
                "b",
                "f1",
                "100",
                "f2",
                "200"}),
        boost::test_tools::per_element()
    );
}

// An error that answers the whole call may be about another step of it.
BOOST_AUTO_TEST_CASE(an_error_in_its_own_place_is_about_that_step)
{
    for (bool const is_whole : {false, true}) {
        auto& a = add(scripts::release, "a", {"box", "f1", "c"});
        add(scripts::release, "b", {"box", "f2", "c"});
        sent_batch batch{waiting, {}};
        batch.receive(is_whole ? "-OOM no memory\r\n" : "*2\r\n-OOM no memory\r\n:1\r\n");
        BOOST_TEST((batch.answers.at(&a).value.what == reply::kind::error));
        BOOST_TEST(batch.answers.at(&a).in_company == is_whole);
    }
}

BOOST_AUTO_TEST_CASE(a_call_has_at_most_128_locks)
{
    for (int i = 0; i != 300; ++i)
        add(scripts::renew, "k", {"f", "100"});
    sent_batch batch{waiting, {}};
    auto const sent = batch.commands;
    BOOST_TEST_REQUIRE(sent.size() == 3U);
    BOOST_TEST(sent[0][2] == "128");
    BOOST_TEST(sent[1][2] == "128");
    BOOST_TEST(sent[2][2] == "44");
    BOOST_TEST(batch.commands.size() == 3U);
}

BOOST_AUTO_TEST_CASE(an_acquire_says_once_how_tokens_are_drawn)
{
    for (auto const* field : {"f1", "f2"})
        add(scripts::acquire, "k", {field, "300", "1"}, "count").tokens = clock_tokens;
    sent_batch batch{waiting, {}};
    BOOST_TEST(
        batch.commands.at(0) ==
            (words{
                "EVALSHA",
                std::string{scripts::acquire.sha1},
                "4",
                "k",
                "count",
                "k",
                "count",
                "clock",
                "f1",
                "300",
                "1",
                "f2",
                "300",
                "1"}),
        boost::test_tools::per_element()
    );
}

BOOST_AUTO_TEST_CASE(releases_say_once_how_mailboxes_are_named)
{
    for (auto const* box : {"box", "box", "of another slot"})
        add(scripts::release, "k", {box, "f", "channel"});
    sent_batch batch{waiting, {}};
    auto const sent = batch.commands;
    BOOST_TEST_REQUIRE(sent.size() == 2U);
    BOOST_TEST(
        (words{sent[0].begin() + 5, sent[0].end()}) ==
            (words{"box", "f", "channel", "f", "channel"}),
        boost::test_tools::per_element()
    );
    BOOST_TEST(sent[1][4] == "of another slot");
}

BOOST_AUTO_TEST_CASE(a_call_draws_tokens_in_one_way)
{
    for (auto const tokens :
         {redisson_tokens, redisson_tokens, clock_tokens, clock_tokens, redisson_tokens})
        add(scripts::write_acquire, "k", {"f", "300", "1"}, "count").tokens = tokens;
    sent_batch batch{waiting, {}};
    auto const sent = batch.commands;
    BOOST_TEST_REQUIRE(sent.size() == 3U);
    for (std::size_t i = 0; i != 3; ++i) {
        BOOST_TEST(sent[i].at(2) == (i == 2 ? "2" : "4"));
        BOOST_TEST(sent[i].at(i == 2 ? 5 : 7) == (i == 1 ? clock_tokens : redisson_tokens));
    }
}

BOOST_AUTO_TEST_CASE(steps_of_each_lock_type_are_joined_in_this_order)
{
    for (auto const* script :
         {&scripts::fair_acquire,
          &scripts::read_acquire,
          &scripts::write_acquire,
          &scripts::fair_release,
          &scripts::write_release,
          &scripts::read_release,
          &scripts::read_extend,
          &scripts::read_renew})
        for (auto const* key : {"a", "b"})
            add(*script, key, {"f"});
    sent_batch batch{waiting, {}};
    std::vector<std::string> order;
    for (auto const& command : batch.commands) {
        BOOST_TEST(command.at(2) == "2");
        auto const script = std::ranges::find(scripts::all, command[1], &scripts::script::sha1);
        BOOST_TEST_REQUIRE((script != scripts::all.end()));
        order.emplace_back((*script)->name);
    }
    BOOST_TEST(
        order ==
            (words{
                "read_renew",
                "read_extend",
                "read_release",
                "write_release",
                "write_acquire",
                "read_acquire",
                "fair_release",
                "fair_acquire"}),
        boost::test_tools::per_element()
    );
}

BOOST_AUTO_TEST_CASE(without_fencing_the_way_to_draw_is_empty)
{
    add(scripts::acquire, "k", {"f", "300", "0"});
    sent_batch batch{waiting, {}};
    auto const sent = batch.commands.at(0);
    BOOST_TEST(sent.at(2) == "1");
    BOOST_TEST(sent.at(4).empty());
}

BOOST_AUTO_TEST_CASE(renewals_first_acquires_last)
{
    add(scripts::inspect, "k", {});
    add(scripts::acquire, "k", {"f9", "300", "0"});
    add(scripts::release, "k", {"f1", "channel"});
    add(scripts::extend, "k", {"f1", "1", "300"});
    add(scripts::renew, "k", {"f1", "300"});
    sent_batch batch{waiting, {}};
    words order;
    for (auto const& command : batch.commands)
        order.push_back(command.at(1));
    BOOST_TEST(
        order ==
            (words{
                std::string{scripts::renew.sha1},
                std::string{scripts::extend.sha1},
                std::string{scripts::release.sha1},
                std::string{scripts::acquire.sha1},
                std::string{scripts::inspect.sha1}}),
        boost::test_tools::per_element()
    );
    BOOST_TEST(batch.order.front() == "renew");
}

BOOST_AUTO_TEST_CASE(what_keeps_many_comes_before_all_else)
{
    add(scripts::fair_acquire, "k", {"f9"});
    add(scripts::extend, "k", {"f1", "1", "300"});
    add(scripts::fair_keep, "k", {"f2"}).whole = true;
    add(scripts::read_renew, "k", {"f3"}).whole = true;
    add(scripts::renew, "k", {"f1", "300"}).whole = true;
    sent_batch batch{waiting, {}};
    BOOST_TEST(
        batch.order == (words{"fair_keep", "read_renew", "renew", "extend", "fair_acquire"}),
        boost::test_tools::per_element()
    );
}

// Otherwise it would set the shorter lease that it knows.
BOOST_AUTO_TEST_CASE(the_renewal_of_a_permit_comes_before_its_extension)
{
    add(scripts::permit_extend, "k", {"f1", "600000"});
    add(scripts::permit_extend, "k", {"f1", "30000"}).whole = true;
    sent_batch batch{waiting, {}};
    BOOST_TEST_REQUIRE(batch.commands.size() == 2U);
    BOOST_TEST(batch.commands[0].back() == "30000");
    BOOST_TEST(batch.commands[1].back() == "600000");
}

BOOST_AUTO_TEST_CASE(questions_and_what_was_refused_go_alone)
{
    add(scripts::inspect, "a", {});
    add(scripts::inspect, "b", {});
    add(scripts::release, "c", {"f", "channel"}).alone = true;
    add(scripts::release, "d", {"f", "channel"});
    add(scripts::release, "e", {"f", "channel"});
    sent_batch batch{waiting, {}};
    std::vector<std::string> counts;
    for (auto const& command : batch.commands)
        counts.push_back(command.at(2));
    BOOST_TEST(counts == (words{"2", "1", "1", "1"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_script_that_is_not_known_goes_as_text)
{
    add(scripts::release, "a", {"f", "channel"}).as_text = true;
    sent_batch one{waiting, {}};
    BOOST_TEST(one.commands[0][0] == "EVAL");
    BOOST_TEST(one.commands[0][1] == scripts::release.text);
    add(scripts::renew, "a", {"f", "1"});
    sent_batch whole{waiting, {.as_text = true}};
    BOOST_TEST(whole.commands[0][1] == scripts::renew.text);
}

BOOST_AUTO_TEST_CASE(a_script_goes_as_text_until_the_server_knows_it)
{
    known_scripts known;
    add(scripts::release, "a", {"f", "channel"});
    sent_batch first{waiting, {.known = &known}};
    BOOST_TEST(first.commands[0][0] == "EVAL");
    add(scripts::release, "a", {"f", "channel"});
    add(scripts::renew, "a", {"f", "1"});
    sent_batch second{waiting, {.known = &known}};
    BOOST_TEST(second.commands[0][0] == "EVAL");
    BOOST_TEST(second.commands[0][1] == scripts::renew.text);
    BOOST_TEST(second.commands[1][0] == "EVALSHA");
}

BOOST_AUTO_TEST_CASE(each_step_gets_its_part_of_the_reply)
{
    step const* steps[3];
    for (auto& s : steps)
        s = &add(scripts::renew, "k", {"f", "1"});
    sent_batch batch{waiting, {}};
    batch.receive("*3\r\n:1\r\n-WRONGTYPE\r\n_\r\n");
    BOOST_TEST(batch.is_over);
    BOOST_TEST(batch.answers[steps[0]].value.number == 1);
    BOOST_TEST((batch.answers[steps[1]].value.what == reply::kind::error));
    BOOST_TEST((batch.answers[steps[2]].value.what == reply::kind::nil));
}

BOOST_AUTO_TEST_CASE(each_call_is_answered_as_its_reply_comes)
{
    auto const& renewed = add(scripts::renew, "k", {"f", "1"});
    auto const& released = add(scripts::release, "k", {"f", "channel"});
    sent_batch batch{waiting, {}};
    batch.receive("*1\r\n:1\r\n*1\r\n");
    BOOST_TEST(batch.answers.count(&renewed) == 1U);
    BOOST_TEST(batch.answers.count(&released) == 0U);
    BOOST_TEST(!batch.is_over);
    batch.lose();
    BOOST_TEST_REQUIRE(batch.lost.size() == 1U);
    BOOST_TEST((batch.lost.front() == &released));
    BOOST_TEST(batch.is_over);
}

BOOST_AUTO_TEST_CASE(an_error_is_everybodys_and_another_shape_is_nobodys)
{
    for (auto const* wrong : {"-NOSCRIPT\r\n", "_\r\n", ":1\r\n", "*1\r\n:1\r\n", "+OK\r\n"}) {
        step const* steps[2];
        for (auto& s : steps)
            s = &add(scripts::renew, "k", {"f", "1"});
        sent_batch batch{waiting, {}};
        batch.receive(wrong);
        for (auto const* s : steps) {
            auto const& value = batch.answers.at(s).value;
            if (*wrong == '-')
                BOOST_TEST(value.text == "NOSCRIPT");
            BOOST_TEST((decide::read_extend(value) == decide::extend_answer::malformed));
        }
    }
}

BOOST_AUTO_TEST_CASE(in_a_cluster_a_call_has_keys_of_one_slot)
{
    for (unsigned slot : {7U, 3U, 7U, 3U, 5U})
        add(scripts::renew, slot == 7 ? "a" : slot == 3 ? "b" : "c", {"f", "1"}).slot = slot;
    sent_batch batch{waiting, {.by_slot = true}};
    auto const sent = batch.commands;
    BOOST_TEST_REQUIRE(sent.size() == 3U);
    BOOST_TEST(sent[0][3] == "b");
    BOOST_TEST(sent[0][2] == "2");
    BOOST_TEST(sent[1][3] == "c");
    BOOST_TEST(sent[2][3] == "a");
    BOOST_TEST(sent[2][2] == "2");
}

BOOST_AUTO_TEST_CASE(who_asks_where_a_slot_goes_says_so_before_his_call)
{
    auto& moved = add(scripts::release, "a", {"f", "channel"});
    moved.alone = moved.asking = true;
    auto const& other = add(scripts::release, "b", {"f", "channel"});
    sent_batch batch{waiting, {}};
    auto const sent = batch.commands;
    BOOST_TEST_REQUIRE(sent.size() == 3U);
    BOOST_TEST(sent[0][3] == "b");
    BOOST_TEST(sent[1] == words{"ASKING"}, boost::test_tools::per_element());
    BOOST_TEST(sent[2][3] == "a");
    batch.receive("*1\r\n:1\r\n+OK\r\n*1\r\n:2\r\n");
    BOOST_TEST(batch.answers[&other].value.number == 1);
    BOOST_TEST(batch.answers[&moved].value.number == 2);
    BOOST_TEST(batch.is_over);
}

BOOST_AUTO_TEST_CASE(each_call_has_a_number)
{
    auto const& renewed = add(scripts::renew, "k", {"f", "1"});
    auto const& released = add(scripts::release, "k", {"f", "channel"});
    sent_batch batch{waiting, {}, true};
    BOOST_TEST_REQUIRE(batch.commands.size() == 2U);
    BOOST_TEST(batch.commands[0].size() == 7U);
    BOOST_TEST(batch.commands[0].back() == "1");
    BOOST_TEST(batch.commands[1].back() == "2");
    batch.receive("*3\r\n$1\r\n1\r\n:1\r\n:1\r\n*2\r\n$1\r\n2\r\n:5\r\n");
    BOOST_TEST((batch.answers[&renewed].value.what == reply::kind::text));  // none of this script
    BOOST_TEST(batch.answers[&released].value.number == 5);
    BOOST_TEST(batch.is_over);
}

// It may be the error of the call behind, if the reply to this one is missing.
BOOST_AUTO_TEST_CASE(an_error_is_believed_with_the_next_number)
{
    auto const& renewed = add(scripts::renew, "k", {"f", "1"});
    auto const& extended = add(scripts::extend, "k", {"f", "1", "1"});
    auto const& released = add(scripts::release, "k", {"f", "channel"});
    sent_batch batch{waiting, {}, true};
    batch.written();
    batch.receive("-BUSY\r\n");
    BOOST_TEST(batch.answers.empty());
    batch.receive("*2\r\n$1\r\n2\r\n:1\r\n");
    BOOST_TEST(batch.answers.at(&renewed).value.text == "BUSY");
    BOOST_TEST(batch.answers.at(&extended).value.number == 1);
    batch.receive("-BUSY\r\n");
    BOOST_TEST(batch.answers.count(&released) == 0U);
    BOOST_TEST(batch.written() == "*2\r\n$4\r\nPING\r\n$1\r\n4\r\n");
    BOOST_TEST(!batch.is_over);
    batch.receive("$1\r\n4\r\n");
    BOOST_TEST(batch.answers.at(&released).value.text == "BUSY");
    BOOST_TEST(batch.is_over);
}

BOOST_AUTO_TEST_CASE(an_error_whose_number_does_not_come_is_lost)
{
    auto const& released = add(scripts::release, "k", {"f", "channel"});
    sent_batch batch{waiting, {}, true};
    batch.receive("-BUSY\r\n");
    batch.lose();
    BOOST_TEST(batch.answers.empty());
    BOOST_TEST_REQUIRE(batch.lost.size() == 1U);
    BOOST_TEST((batch.lost.front() == &released));
    BOOST_TEST(batch.is_over);
}

// A busy server answers nothing else to any command, so the count of the answers has to do.
BOOST_AUTO_TEST_CASE(an_error_behind_an_error_is_enough)
{
    auto const& released = add(scripts::release, "k", {"f", "channel"});
    sent_batch batch{waiting, {}, true};
    batch.receive("-BUSY\r\n-BUSY\r\n");
    BOOST_TEST(batch.answers.at(&released).value.text == "BUSY");
    BOOST_TEST(batch.is_over);
}

BOOST_AUTO_TEST_CASE(the_answer_to_a_bare_command_is_believed_with_the_next_number)
{
    std::string_view const get[]{"GET", "a"};
    step asked{any_command, 0, {}, get};
    waiting.push_back(asked);
    sent_batch batch{waiting, {}, true};
    BOOST_TEST_REQUIRE(batch.commands.size() == 2U);
    BOOST_TEST(batch.commands[1] == (words{"PING", "1"}), boost::test_tools::per_element());
    batch.receive("+a\r\n");
    BOOST_TEST(batch.answers.empty());
    batch.receive("$1\r\n1\r\n");
    BOOST_TEST(batch.answers.at(&asked).value.text == "a");
    BOOST_TEST(batch.is_over);
}

BOOST_AUTO_TEST_CASE(scripts_publish_as_the_servers_of_the_subscribers)
{
    BOOST_TEST(&form_of(scripts::release, publishing::plain) == &scripts::release);
    BOOST_TEST(&form_of(scripts::renew, publishing::sharded) == &scripts::renew);
    auto const& sharded = form_of(scripts::release, publishing::sharded);
    BOOST_TEST(sharded.text.find("'spublish'") != sharded.text.npos);
    BOOST_TEST(sharded.text.find("'publish'") == sharded.text.npos);
    BOOST_TEST(sharded.sha1 != scripts::release.sha1);
    add(scripts::release, "c", {"f3", "channel"});
    sent_batch batch{waiting, {.publish = publishing::both}};
    BOOST_TEST(batch.commands[0][1] == scripts::release_both.sha1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
