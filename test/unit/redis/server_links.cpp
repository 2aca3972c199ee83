// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "redis/server_links.hpp"
#include "support/scripted_server.hpp"
#include "unit/redis/link_rig.hpp"

#include <chrono>
#include <functional>
#include <set>

namespace colock::test {

namespace {

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

    void on_command_link_up(command_link&) override {}
    void on_command_link_down(command_link&, error_code) override {}
    void on_command_link_failed(command_link&) override {}
    void on_redirect(command_link&, step&, decide::redirection const&, time_point) override {}
    void on_pubsub_link_up(pubsub_link&) override {}
    void on_pubsub_link_down(pubsub_link&) override {}
    void on_confirmed(pubsub_link&, std::string_view) override {}
    void on_refused(pubsub_link&, std::string_view, std::string_view) override {}
    void on_changed(pubsub_link&) override {}
    void on_ended(pubsub_link&, std::string_view) override {}
    void on_published(std::string_view, std::string_view) override {}

    scripted_server server{
        [busy = std::set<std::size_t>{}](scripted_server::command const& c
        ) mutable -> std::optional<scripted_server::answer> {
            if (c.is("EVALSHA"))
                busy.insert(c.connection);
            return busy.contains(c.connection) ? std::optional{scripted_server::answer{""}}
                                               : std::nullopt;
        }};
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
    using command = scripted_server::command;
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

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
