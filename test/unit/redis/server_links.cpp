// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "redis/server_links.hpp"
#include "support/scripted_server.hpp"
#include "unit/redis/link_rig.hpp"

#include <algorithm>
#include <chrono>
#include <functional>
#include <set>
#include <string>
#include <vector>

namespace colock::test {

namespace {

using command = scripted_server::command;

/// The links to a server that answers no script.
struct busy_links final : private command_link::listener, private pubsub_link::listener {
    bool comes(std::function<bool()> const& is_so)
    {
        auto const end = std::chrono::steady_clock::now() + std::chrono::seconds{5};
        while (!is_so() && std::chrono::steady_clock::now() < end) {
            rig.alarms.run(clock::now());
            rig.context.restart();
            rig.context.run_one_for(milliseconds{2});
        }
        return is_so();
    }
    void submit()
    {
        auto& s = steps.add(scripts::renew, "k", {"f", "100"});
        s.unlink();
        links.submit(s);
    }

    /// The server answers what it has heard.
    void answer_all()
    {
        for (auto const& c : server.heard())
            answer(c);
    }
    void answer_last()
    {
        auto const all = server.heard();
        answer(*std::ranges::find_if(all.rbegin(), all.rend(), [](auto const& c) {
            return c.is("EVALSHA");
        }));
    }
    void answer(scripted_server::command const& c)
    {
        if (c.is("EVALSHA"))
            server.send(
                c.connection,
                scripted_server::numbered(
                    c, wire::list(std::vector(std::stoul(c.said.at(2)), wire::number(1)))
                )
            );
    }

    /// In steps of this length. What is due acts only between them.
    void leap(milliseconds time, milliseconds step)
    {
        for (; time > milliseconds{0}; time -= step) {
            rig.time.jump(step);
            rig.alarms.run(clock::now());
            rig.time.settle();
            server.catch_up();
            rig.time.settle();
        }
    }
    void keep_log()
    {
        rig.settings.log = {
            [this](log_level, std::string_view line) { log.emplace_back(line); },
            log_level::warning};
    }

    /// Lets time pass, and the server answers meanwhile.
    void pass(milliseconds limit)
    {
        for (; limit > milliseconds{0}; limit -= milliseconds{50}) {
            rig.advance(milliseconds{50});
            server.catch_up();
            rig.time.settle();
        }
    }

    /// The first link, with 60 steps under way.
    command_link& with_much_to_do()
    {
        links.start();
        for (int i = 0; i != 60; ++i)
            submit();
        auto& first = links.link(0);
        BOOST_TEST_REQUIRE(comes([&] { return first.under_way() == 60U; }));
        return first;
    }

    void on_command_link_up(command_link& link) override { links.note_server(link); }
    void on_command_link_down(command_link&, error_code) override {}
    void on_command_link_failed(command_link&) override {}
    void on_redirect(command_link&, step&, decide::redirection const&, time_point) override {}
    void on_pubsub_link_up(pubsub_link&) override {}
    void on_pubsub_link_down(pubsub_link&, error_code) override {}
    void on_demoted(pubsub_link& link) override { links.leave_replica(link.peer()); }
    void on_confirmed(pubsub_link&, std::string_view) override {}
    void on_refused(pubsub_link&, std::string_view, std::string_view) override {}
    void on_changed(pubsub_link&) override {}
    void on_ended(pubsub_link&, std::string_view) override {}
    void on_published(pubsub_link&, std::string_view, std::string_view) override {}

    scripted_server server{
        [busy = std::set<std::size_t>{}](scripted_server::command const& c
        ) mutable -> std::optional<scripted_server::answer> {
            if (c.is("EVALSHA"))
                busy.insert(c.connection);
            return busy.contains(c.connection) ? std::optional{scripted_server::answer{""}}
                                               : std::nullopt;
        }};
    std::vector<std::string> log;
    link_rig rig;
    steps_to_send steps;
    server_links links{
        rig.shared,
        static_cast<command_link::listener&>(*this),
        static_cast<pubsub_link::listener&>(*this),
        0,
        server.where(),
        publishing::plain};
};

}  // namespace

BOOST_AUTO_TEST_SUITE(links_to_one_server)

BOOST_AUTO_TEST_CASE(a_step_after_the_stop_keeps_nothing_busy)
{
    busy_links at;
    auto& first = at.with_much_to_do();
    at.links.stop();
    at.submit();  // while what was sent is not known to be lost
    BOOST_TEST(first.under_way() == 60U);
    BOOST_TEST(at.comes([&] { return first.under_way() == 0U; }));
    BOOST_TEST(at.rig.alarms.empty());
}

// One link hangs. What belongs to others does not wait until its silence is noticed.
BOOST_AUTO_TEST_CASE(steps_are_held_back_for_a_moment_only)
{
    busy_links at;
    auto& first = at.with_much_to_do();
    at.submit();  // which opens another link
    BOOST_TEST_REQUIRE(at.comes([&] { return at.links.links_up() == 2U; }));
    BOOST_TEST(first.under_way() == 61U);
    at.submit();
    BOOST_TEST(first.under_way() == 61U);  // the slots are about to be shared anew
    at.rig.advance(milliseconds{199});
    BOOST_TEST(first.under_way() == 61U);
    at.rig.advance(milliseconds{2});
    BOOST_TEST(at.comes([&] { return first.under_way() == 62U; }));
    at.submit();
    BOOST_TEST(at.comes([&] { return first.under_way() == 63U; }));
}

// A server that refuses to end the old connection may run the rest of it at any time.
BOOST_AUTO_TEST_CASE(a_step_knows_whether_older_ones_may_still_run)
{
    for (bool const refuses : {false, true}) {
        busy_links at;
        at.server.say(
            [refuses, busy = std::set<std::size_t>{}](command const& c
            ) mutable -> std::optional<scripted_server::answer> {
                if (c.is("EVALSHA"))
                    busy.insert(c.connection);
                if (busy.contains(c.connection))
                    return "";
                if (refuses && c.is("CLIENT") && c.said[1] == "KILL")
                    return wire::failure("NOPERM this user has no permissions");
                return std::nullopt;
            }
        );
        at.links.start();
        auto& first = at.links.link(0);
        auto const written = [&] {
            at.submit();
            BOOST_TEST_REQUIRE(at.comes([&] {
                at.rig.advance(milliseconds{1});
                return first.under_way() != 0;
            }));
            return at.steps.all.back().call->on;
        };
        auto const before = written();
        BOOST_TEST(!before.is_after(before));
        at.server.cut();
        BOOST_TEST_REQUIRE(at.comes([&] { return first.under_way() == 0; }));
        auto const after = written();
        BOOST_TEST(after.link == before.link);
        BOOST_TEST(!after.is_same(before));
        BOOST_TEST(after.is_after(before) == !refuses);
        at.links.stop();
        BOOST_TEST(at.comes([&] { return first.under_way() == 0; }));
    }
}

// Steps of one key must not overtake each other.
BOOST_AUTO_TEST_CASE(slots_are_shared_anew_when_all_is_answered)
{
    busy_links at;
    auto& first = at.with_much_to_do();
    at.submit();
    BOOST_TEST_REQUIRE(at.comes([&] { return at.links.links_up() == 2U; }));
    at.submit();
    BOOST_TEST(&at.links.link(1) == &first);
    BOOST_TEST(first.under_way() == 61U);
    at.answer_all();
    BOOST_TEST(at.comes([&] { return &at.links.link(1) != &first; }));
    BOOST_TEST(&at.links.link(0) == &first);
    BOOST_TEST(at.comes([&] { return first.under_way() == 1U; }));
}

BOOST_AUTO_TEST_CASE(a_link_that_is_made_later_goes_where_the_others_are)
{
    busy_links at;
    scripted_server primary{[](scripted_server::command const& c) {
        return c.is("EVALSHA") ? std::optional{scripted_server::answer{""}} : std::nullopt;
    }};
    at.links.follow(primary.where());
    at.with_much_to_do();
    at.submit();
    BOOST_TEST(at.comes([&] { return at.links.links_up() == 2U; }));
    BOOST_TEST(primary.connections() == 2U);
    BOOST_TEST(at.server.connections() == 0U);
}

// A node that fails over and back is used as before.
BOOST_AUTO_TEST_CASE(links_that_were_left_idle_are_not_used_again_for_little)
{
    busy_links at;
    auto& first = at.with_much_to_do();
    at.submit();
    BOOST_TEST_REQUIRE(at.comes([&] { return at.links.links_up() == 2U; }));
    at.submit();
    at.answer_all();
    BOOST_TEST_REQUIRE(at.comes([&] { return &at.links.link(1) != &first; }));
    at.server.say({});
    BOOST_TEST_REQUIRE(at.comes([&] { return first.under_way() == 1U; }));
    at.answer_last();
    BOOST_TEST_REQUIRE(at.comes([&] { return first.is_idle(); }));
    at.links.retire();
    BOOST_TEST_REQUIRE(at.comes([&] { return at.links.links_up() == 0U; }));
    at.submit();
    BOOST_TEST_REQUIRE(at.comes([&] { return first.is_up() && first.is_idle(); }));
    at.rig.advance(milliseconds{2'002});  // until it was looked at twice
    BOOST_TEST_REQUIRE(at.comes([&] { return at.links.links_up() == 2U; }));
    at.submit();
    BOOST_TEST(at.comes([&] { return &at.links.link(1) == &first; }));
}

// What a node had under way when it crashed may arrive there for a while, if it comes back.
BOOST_AUTO_TEST_CASE(links_to_a_node_that_has_crashed_end_after_a_while)
{
    busy_links at;
    at.with_much_to_do();
    at.server.say([](auto const&) { return std::optional{scripted_server::answer{""}}; });
    at.server.cut();
    BOOST_TEST_REQUIRE(at.comes([&] { return at.links.links_up() == 0U; }));
    at.links.retire();
    BOOST_TEST(!at.links.is_over());
    at.rig.advance(std::chrono::minutes{16});
    at.links.retire();
    BOOST_TEST(at.links.is_over());
}

BOOST_AUTO_TEST_CASE(after_a_stop_no_channel_is_wanted_any_more)
{
    busy_links at;
    at.server.say({});
    at.links.start();
    at.links.want_pubsub();
    BOOST_TEST_REQUIRE(at.comes([&] { return at.links.links_up() == 1U; }));
    at.links.stop();
    BOOST_TEST_REQUIRE(at.comes([&] { return at.links.links_up() == 0U; }));
    at.links.start();
    BOOST_TEST(!at.links.pubsub().is_started());
}

// A client that only waits writes nothing, so no READONLY tells it.
BOOST_AUTO_TEST_CASE(a_waiter_leaves_a_primary_that_was_demoted)
{
    busy_links at;
    at.server.say({});
    at.links.start();
    at.links.want(0);
    at.links.want_pubsub();
    BOOST_TEST_REQUIRE(at.comes([&] { return at.links.links_up() == 2U; }));
    auto const hellos = at.server.count("HELLO");
    at.server.say([](scripted_server::command const& c) -> std::optional<scripted_server::answer> {
        if (c.is("HELLO") && c.said.size() == 1)
            return "%1\r\n" + wire::text("role") + wire::text("replica");
        return std::nullopt;
    });
    at.pass(milliseconds{4'950});
    BOOST_TEST(at.server.connections() == 2U);
    at.pass(milliseconds{50});
    BOOST_TEST(at.comes([&] { return at.server.connections() == 4U; }));  // two, and two again
    BOOST_TEST(at.comes([&] { return at.links.links_up() == 2U; }));
    BOOST_TEST(at.server.count("HELLO") == hellos + 3);
}

// The name leads to the primary and to its replica, where no release finds it.
BOOST_AUTO_TEST_CASE(the_link_for_messages_does_not_stay_at_a_replica)
{
    busy_links at;
    auto const is = [](std::string const& role) {
        return [role](scripted_server::command const& c) -> std::optional<scripted_server::answer> {
            if (c.is("HELLO"))
                return "%1\r\n" + wire::text("role") + wire::text(role);
            return std::nullopt;
        };
    };
    at.server.say(is("master"));
    at.links.start();
    at.links.want(0);
    at.links.want_pubsub();
    BOOST_TEST_REQUIRE(at.comes([&] { return at.links.links_up() == 2U; }));
    auto const before = at.server.connections();
    at.server.say(is("replica"));
    at.links.pubsub().restart(boost::asio::error::eof);
    BOOST_TEST_REQUIRE(at.comes([&] {
        return at.server.connections() == before + 1 && at.links.links_up() == 2U;
    }));
    at.pass(milliseconds{5'000});
    BOOST_TEST(at.comes([&] { return at.server.connections() > before + 1; }));
}

// The name leads elsewhere, or a proxy does: the old server gives away what is held at the new one.
BOOST_AUTO_TEST_CASE(all_links_go_to_the_server_of_the_one_that_came_up_last)
{
    busy_links at;
    at.keep_log();
    auto const is = [](std::string const& run_id) {
        return [words = wire::text("redis_mode:standalone\r\nrun_id:" + run_id + "\r\n")](
                   scripted_server::command const& c
               ) -> std::optional<scripted_server::answer> {
            return c.is("INFO")   ? std::optional{scripted_server::answer{words}}
                : c.is("EVALSHA") ? std::optional{scripted_server::answer{""}}
                                  : std::nullopt;
        };
    };
    at.server.say(is("old"));
    auto& first = at.with_much_to_do();
    at.submit();
    at.links.want_pubsub();
    BOOST_TEST_REQUIRE(at.comes([&] { return at.links.links_up() == 3U; }));
    at.answer_all();
    BOOST_TEST_REQUIRE(at.comes([&] { return first.is_idle(); }));
    auto const before = at.server.connections();
    at.server.say(is("new"));
    at.pass(milliseconds{1'000});
    BOOST_TEST(first.renew_connection());
    BOOST_TEST(at.comes([&] {
        return at.server.connections() == before + 3 && at.links.links_up() == 3U;
    }));
    BOOST_TEST(std::ranges::count_if(at.log, [](auto const& line) {
                   return line.find("Remedy: see that only one of the two is a primary") !=
                       line.npos;
               }) == 1);
}

// The name leads to the primary and to its replica.
BOOST_AUTO_TEST_CASE(no_link_leaves_a_primary_for_a_replica)
{
    busy_links at;
    auto const is = [](std::string const& run_id, std::string const& role) {
        return [run_id,
                role](scripted_server::command const& c) -> std::optional<scripted_server::answer> {
            if (c.is("INFO"))
                return wire::text("redis_mode:standalone\r\nrun_id:" + run_id + "\r\n");
            if (c.is("HELLO"))
                return "%1\r\n" + wire::text("role") + wire::text(role);
            return std::nullopt;
        };
    };
    at.server.say(is("one", "master"));
    at.links.start();
    at.links.want(0);
    at.links.want_pubsub();
    BOOST_TEST_REQUIRE(at.comes([&] { return at.links.links_up() == 2U; }));
    auto const before = at.server.connections();
    at.server.say(is("two", "replica"));
    at.pass(milliseconds{1'000});
    BOOST_TEST(at.links.link(0).renew_connection());
    BOOST_TEST_REQUIRE(at.comes([&] {
        return at.server.connections() == before + 1 && at.links.links_up() == 2U;
    }));
    at.pass(milliseconds{50});
    BOOST_TEST(at.server.connections() == before + 1);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(lines_about_a_server)

BOOST_AUTO_TEST_CASE(a_server_that_is_away_for_an_hour)
{
    busy_links at;
    at.keep_log();
    at.server.say({});
    at.links.start();
    at.links.want(0);
    at.links.want_pubsub();
    BOOST_TEST_REQUIRE(at.comes([&] { return at.links.links_up() == 2U; }));
    at.leap(milliseconds{2'000}, milliseconds{100});
    BOOST_TEST(at.log.empty());
    at.server.listen(false);
    at.leap(std::chrono::hours{1}, milliseconds{250});
    BOOST_TEST(at.links.links_up() == 0U);
    BOOST_TEST(at.log.size() >= 10U);
    BOOST_TEST(at.log.size() <= 20U);
    at.server.listen(true);
    at.leap(milliseconds{2'000}, milliseconds{100});
    BOOST_TEST(at.links.links_up() == 2U);
}

// Each lasts long enough to be no failure to connect.
BOOST_AUTO_TEST_CASE(connections_that_are_ended_again_and_again)
{
    busy_links at;
    at.keep_log();
    at.server.say({});
    at.links.start();
    at.links.want(0);
    at.links.want_pubsub();
    for (int n = 0; n != 30; ++n) {
        at.leap(milliseconds{1'300}, milliseconds{100});
        at.server.cut();
    }
    at.leap(milliseconds{100}, milliseconds{100});
    BOOST_TEST(at.server.connections() >= 60U);
    BOOST_TEST(at.log.size() >= 5U);
    BOOST_TEST(at.log.size() <= 8U);
}

// Each answer stands in a reply of its own, so it is about that lock alone.
BOOST_AUTO_TEST_CASE(releases_that_are_refused)
{
    busy_links at;
    at.keep_log();
    at.server.say([](command const& c) -> std::optional<scripted_server::answer> {
        if (!c.is("EVALSHA"))
            return std::nullopt;
        auto const refused = wire::failure("NOREPLICAS Not enough good replicas to write.");
        return wire::list(std::vector(std::stoul(c.said.at(2)), refused));
    });
    at.links.start();
    at.links.want(0);
    BOOST_TEST_REQUIRE(at.comes([&] { return at.links.links_up() == 1U; }));
    for (int round = 0; round != 24; ++round) {
        for (int i = 0; i != 500; ++i) {
            auto& s = at.steps.add(scripts::release, "k", {"f", "channel", ""});
            s.unlink();
            at.links.submit(s);
        }
        at.leap(milliseconds{500}, milliseconds{100});
        BOOST_TEST(at.links.link(0).is_idle());
        at.steps.all.clear();
    }
    BOOST_TEST(at.log.size() <= 5U);
    BOOST_TEST(at.log.front().ends_with(
        ":6379 (commands): the server refuses script release: NOREPLICAS Not enough good replicas "
        "to write."
    ));
    BOOST_TEST(at.log.at(1) == at.log.front() + " (and 998 more in 1.0 s)");
    BOOST_TEST(at.server.count("EVALSHA") == 24U * 4U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
