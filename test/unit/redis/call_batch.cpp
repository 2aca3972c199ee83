// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "redis/call_batch.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace colock::test {

namespace {

using decide::reply;

/// Steps with texts of their own, handed over in this order.
struct steps_to_send {
    struct owned {
        std::string_view keys[2];
        std::string_view arguments[3];
        std::optional<step> call;
    };

    step& add(
        scripts::script const& what,
        std::string_view key,
        std::vector<std::string_view> const& arguments,
        std::string_view counter = {}
    )
    {
        auto& o = all.emplace_back();
        o.keys[0] = key;
        o.keys[1] = counter;
        std::ranges::copy(arguments, o.arguments);
        o.call.emplace(
            what,
            0U,
            std::span{o.keys}.first(counter.empty() ? 1 : 2),
            std::span{o.arguments}.first(arguments.size())
        );
        waiting.push_back(*o.call);
        return *o.call;
    }
    ~steps_to_send() { waiting.clear(); }

    std::deque<owned> all;
    step_list waiting;
};

/// The words of each command in a request.
std::vector<std::vector<std::string>> commands_of(boost::redis::request const& r)
{
    std::vector<std::vector<std::string>> commands;
    std::string_view rest = r.payload();
    auto const number = [&] {
        auto const end = rest.find("\r\n");
        auto const n = std::stoul(std::string{rest.substr(1, end - 1)});
        rest.remove_prefix(end + 2);
        return n;
    };
    while (!rest.empty()) {
        auto& words = commands.emplace_back();
        for (auto left = number(); left != 0; --left) {
            auto const length = number();
            words.emplace_back(rest.substr(0, length));
            rest.remove_prefix(length + 2);
        }
    }
    return commands;
}

using words = std::vector<std::string>;

BOOST_FIXTURE_TEST_SUITE(redis_call_batch, steps_to_send)

BOOST_AUTO_TEST_CASE(steps_of_one_script_go_in_one_call)
{
    add(scripts::renew, "a", {"f1", "100"});
    add(scripts::renew, "b", {"f2", "200"});
    call_batch batch;
    batch.fill(waiting, {"17"});
    BOOST_TEST(waiting.empty());
    auto const sent = commands_of(batch.request);
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

BOOST_AUTO_TEST_CASE(a_call_has_at_most_128_locks)
{
    for (int i = 0; i != 300; ++i)
        add(scripts::renew, "k", {"f", "100"});
    call_batch batch;
    batch.fill(waiting, {""});
    auto const sent = commands_of(batch.request);
    BOOST_TEST_REQUIRE(sent.size() == 3U);
    BOOST_TEST(sent[0][2] == "128");
    BOOST_TEST(sent[1][2] == "128");
    BOOST_TEST(sent[2][2] == "44");
    BOOST_TEST(batch.request.get_expected_responses() == 3U);
}

BOOST_AUTO_TEST_CASE(an_acquire_carries_the_floor_once)
{
    for (auto const* field : {"f1", "f2"})
        add(scripts::acquire, "k", {field, "300", "1"}, "count").floor = link_floor;
    call_batch batch;
    batch.fill(waiting, {"17"});
    BOOST_TEST(
        commands_of(batch.request).at(0) ==
            (words{
                "EVALSHA",
                std::string{scripts::acquire.sha1},
                "4",
                "k",
                "count",
                "k",
                "count",
                "17",
                "f1",
                "300",
                "1",
                "f2",
                "300",
                "1"}),
        boost::test_tools::per_element()
    );
}

BOOST_AUTO_TEST_CASE(a_call_has_one_floor)
{
    for (auto const* floor : {"0", "0", "link", "link", "0"})
        add(scripts::write_acquire, "k", {"f", "300", "1"}, "count").floor = floor;
    call_batch batch;
    batch.fill(waiting, {"17"});
    auto const sent = commands_of(batch.request);
    BOOST_TEST_REQUIRE(sent.size() == 3U);
    for (std::size_t i = 0; i != 3; ++i) {
        BOOST_TEST(sent[i].at(2) == (i == 2 ? "2" : "4"));
        BOOST_TEST(sent[i].at(i == 2 ? 5 : 7) == (i == 1 ? "17" : "0"));
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
    call_batch batch;
    batch.fill(waiting, {""});
    std::vector<std::string> order;
    for (auto const& command : commands_of(batch.request)) {
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

BOOST_AUTO_TEST_CASE(without_fencing_the_floor_is_empty)
{
    add(scripts::acquire, "k", {"f", "300", "0"});
    call_batch batch;
    batch.fill(waiting, {"17"});
    auto const sent = commands_of(batch.request).at(0);
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
    call_batch batch;
    batch.fill(waiting, {""});
    words order;
    for (auto const& command : commands_of(batch.request))
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
    BOOST_TEST((&batch.steps.front()->what == &scripts::renew));
}

BOOST_AUTO_TEST_CASE(what_keeps_many_comes_before_all_else)
{
    add(scripts::fair_acquire, "k", {"f9"});
    add(scripts::extend, "k", {"f1", "1", "300"});
    add(scripts::fair_keep, "k", {"f2"}).whole = true;
    add(scripts::read_renew, "k", {"f3"}).whole = true;
    add(scripts::renew, "k", {"f1", "300"}).whole = true;
    call_batch batch;
    batch.fill(waiting, {""});
    std::vector<std::string> order;
    for (auto const* s : batch.steps)
        order.emplace_back(s->what.name);
    BOOST_TEST(
        order == (words{"fair_keep", "read_renew", "renew", "extend", "fair_acquire"}),
        boost::test_tools::per_element()
    );
}

BOOST_AUTO_TEST_CASE(questions_and_what_was_refused_go_alone)
{
    add(scripts::inspect, "a", {});
    add(scripts::inspect, "b", {});
    add(scripts::release, "c", {"f", "channel"}).alone = true;
    add(scripts::release, "d", {"f", "channel"});
    add(scripts::release, "e", {"f", "channel"});
    call_batch batch;
    batch.fill(waiting, {""});
    std::vector<std::size_t> counts;
    for (auto const& c : batch.calls)
        counts.push_back(c.count);
    BOOST_TEST(counts == (std::vector<std::size_t>{2, 1, 1, 1}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_script_that_is_not_known_goes_as_text)
{
    add(scripts::release, "a", {"f", "channel"}).as_text = true;
    call_batch one;
    one.fill(waiting, {""});
    BOOST_TEST(commands_of(one.request)[0][0] == "EVAL");
    BOOST_TEST(commands_of(one.request)[0][1] == scripts::release.text);
    add(scripts::renew, "a", {"f", "1"});
    call_batch whole;
    whole.fill(waiting, {"", true});
    BOOST_TEST(commands_of(whole.request)[0][1] == scripts::renew.text);
}

BOOST_AUTO_TEST_CASE(each_step_gets_its_part_of_the_reply)
{
    for (int i = 0; i != 3; ++i)
        add(scripts::renew, "k", {"f", "1"});
    call_batch batch;
    batch.fill(waiting, {""});
    batch.replies->push_back(reply::of(std::vector{reply::of(1), reply::error("WRONGTYPE"), reply{}}
    ));
    BOOST_TEST(batch.reply_of(0, 0).number == 1);
    BOOST_TEST((batch.reply_of(0, 1).what == reply::kind::error));
    BOOST_TEST((batch.reply_of(0, 2).what == reply::kind::nil));
}

BOOST_AUTO_TEST_CASE(an_error_is_everybodys_and_another_shape_is_nobodys)
{
    for (int i = 0; i != 2; ++i)
        add(scripts::renew, "k", {"f", "1"});
    call_batch batch;
    batch.fill(waiting, {""});
    batch.replies->push_back(reply::error("NOSCRIPT"));
    BOOST_TEST(batch.reply_of(0, 0).text == "NOSCRIPT");
    BOOST_TEST(batch.reply_of(0, 1).text == "NOSCRIPT");
    for (auto const& wrong :
         {reply{}, reply::of(1), reply::of(std::vector{reply::of(1)}), reply::of("OK")}) {
        batch.replies->front() = wrong;
        for (std::size_t i = 0; i != 2; ++i)
            BOOST_TEST(
                (decide::read_extend(batch.reply_of(0, i)) == decide::extend_answer::malformed)
            );
    }
}

BOOST_AUTO_TEST_CASE(in_a_cluster_a_call_has_keys_of_one_slot)
{
    for (unsigned slot : {7U, 3U, 7U, 3U, 5U})
        add(scripts::renew, slot == 7 ? "a" : slot == 3 ? "b" : "c", {"f", "1"}).slot = slot;
    call_batch batch;
    batch.fill(waiting, {.floor = "", .by_slot = true});
    auto const sent = commands_of(batch.request);
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
    add(scripts::release, "b", {"f", "channel"});
    call_batch batch;
    batch.fill(waiting, {""});
    auto const sent = commands_of(batch.request);
    BOOST_TEST_REQUIRE(sent.size() == 3U);
    BOOST_TEST(sent[0][3] == "b");
    BOOST_TEST(sent[1] == words{"ASKING"}, boost::test_tools::per_element());
    BOOST_TEST(sent[2][3] == "a");
    *batch.replies = {
        reply::of(std::vector{reply::of(1)}),
        reply::of("OK"),
        reply::of(std::vector{reply::of(2)})};
    BOOST_TEST(batch.reply_of(0, 0).number == 1);
    BOOST_TEST(batch.reply_of(1, 0).number == 2);
}

BOOST_AUTO_TEST_CASE(a_round_waits_for_the_replicas_once)
{
    auto& two = add(scripts::acquire, "a", {"f1", "300", "1"});
    two.replicas = 2;
    two.patience = milliseconds{75};
    auto& one = add(scripts::acquire, "b", {"f2", "400", "1"});
    one.replicas = 1;
    one.patience = milliseconds{100};
    auto& none = add(scripts::release, "c", {"f3", "channel"});
    call_batch batch;
    batch.fill(waiting, {""});
    auto const sent = commands_of(batch.request);
    BOOST_TEST_REQUIRE(sent.size() == 3U);
    BOOST_TEST(sent[2] == (words{"WAIT", "2", "100"}), boost::test_tools::per_element());
    batch.replies->assign(2, reply::of(std::vector{reply::of(1), reply::of(1)}));
    batch.replies->push_back(reply::of(1));
    BOOST_TEST((batch.unsynced(two) == error::not_replicated));
    BOOST_TEST(!batch.unsynced(one));
    BOOST_TEST(!batch.unsynced(none));
    batch.replies->back() = reply::error("NOPERM no WAIT");
    BOOST_TEST((batch.unsynced(one) == error::unsupported));
    BOOST_TEST(!batch.unsynced(none));
    batch.replies->back() = reply::error("UNBLOCKED force unblock from blocking operation");
    BOOST_TEST((batch.unsynced(one) == error::not_replicated));
}

BOOST_AUTO_TEST_CASE(without_who_wants_replicas_nobody_waits_for_them)
{
    add(scripts::release, "c", {"f3", "channel"}).synced = true;
    call_batch batch;
    batch.fill(waiting, {""});
    BOOST_TEST(commands_of(batch.request).size() == 1U);
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
    call_batch batch;
    batch.fill(waiting, {.floor = "", .publish = publishing::both});
    BOOST_TEST(commands_of(batch.request)[0][1] == scripts::release_both.sha1);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
