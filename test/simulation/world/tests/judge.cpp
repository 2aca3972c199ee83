// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
// The judge finds each sort of belief that a server does not keep.
#include "decide/permit_id.hpp"
#include "holds/hold_state.hpp"
#include "simulation/world/judge.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <initializer_list>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace colock::simulation {

namespace {

using namespace std::chrono_literals;

std::string const uuid = "the-client";
std::string const field = uuid + ":1";

/// Servers, one client, and holds that show whatever they are told to.
struct court {
    explicit court(kind what, std::size_t servers = 1)
    {
        of.what = what;
        of.name = "it";
        of.permits = 3;
        for (std::size_t i = 0; i != servers; ++i) {
            auto& made =
                *nodes.emplace_back(std::make_unique<node>(static_cast<int>(i), time, past));
            of.at.push_back(&made);
            of.parts.push_back(of.name);
        }
    }
    ~court()
    {
        for (auto const& each : states)
            each->mark_released({});
    }

    node& server(std::size_t i = 0) { return *nodes[i]; }
    void do_there(std::initializer_list<std::string_view> words) { server().ask(words); }

    /// The client believes in a hold for so long from now on, in true time.
    detail::hold_state& believe(
        moment how_long, std::string_view mark = field, bool writes = true, int synced = 0
    )
    {
        auto const made =
            std::make_shared<detail::hold_state>(nullptr, owner{}, milliseconds{1'000}, true);
        made->token = ++tokens;
        states.push_back(made);
        show(*made, how_long);
        auto const& held = holds.emplace_back(detail::hold_access::make<hold>(made));
        judge::stay s{
            &of,
            0,
            &computer,
            &held,
            std::vector<std::string>(of.parts.size(), uuid),
            std::string{mark},
            writes};
        s.owner = who;
        s.synced = synced;
        s.before = truth.mishaps_of(of);
        stays.push_back(truth.enter(std::move(s)));
        return *made;
    }
    void show(detail::hold_state& which, moment how_long)
    {
        which.set_valid_until(computer.local(time.now() + how_long));
    }

    /// What the judge says after this event; empty: nothing.
    std::string verdict(std::string_view rule = "truth")
    {
        try {
            truth.look();
            return {};
        } catch (violation const& found) {
            BOOST_TEST(found.rule == rule);
            BOOST_TEST(found.object == of.name);
            return found.what();
        }
    }
    bool is_found(std::string_view rule = "truth") { return !verdict(rule).empty(); }

    timeline time;
    history past;
    std::vector<std::unique_ptr<node>> nodes;
    machine computer{0};
    object of;
    judge truth{time, past};
    std::vector<detail::hold_ptr> states;
    std::list<hold> holds;
    std::vector<judge::place> stays;
    std::uint64_t tokens = 0;
    std::uint64_t who = 1;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(world_judge)

BOOST_AUTO_TEST_CASE(a_belief_as_long_as_the_lease_is_right)
{
    court c{kind::plain};
    c.do_there({"HSET", "it", field, "1"});
    c.do_there({"PEXPIRE", "it", "1000"});
    c.believe(1s);
    BOOST_TEST(c.verdict() == "");
}

BOOST_AUTO_TEST_CASE(a_belief_beyond_the_lease_is_found_with_both_times)
{
    court c{kind::plain};
    c.do_there({"HSET", "it", field, "1"});
    c.do_there({"PEXPIRE", "it", "1000"});
    c.believe(1500ms);
    auto const said = c.verdict();
    BOOST_TEST_CONTEXT(said)
    {
        BOOST_TEST(said.find("for another 1499999 us") != said.npos);
        BOOST_TEST(said.find("ends it in 1001000 us") != said.npos);
    }
}

BOOST_AUTO_TEST_CASE(a_belief_that_grows_is_looked_at_again)
{
    court c{kind::plain};
    c.do_there({"HSET", "it", field, "1"});
    c.do_there({"PEXPIRE", "it", "1000"});
    auto& held = c.believe(900ms);
    BOOST_TEST(!c.is_found());
    c.show(held, 2s);
    BOOST_TEST(c.is_found());
}

BOOST_AUTO_TEST_CASE(a_lease_that_shrinks_is_looked_at_again)
{
    court c{kind::fair};
    c.do_there({"HSET", "it", field, "1"});
    c.do_there({"PEXPIRE", "it", "1000"});
    c.believe(900ms);
    BOOST_TEST(!c.is_found());
    c.do_there({"PEXPIRE", "it", "800"});
    BOOST_TEST(c.is_found());
}

BOOST_AUTO_TEST_CASE(a_field_of_another_hold_of_the_client_is_not_enough)
{
    court c{kind::plain};
    c.do_there({"HSET", "it", uuid + ":2", "1"});
    c.believe(1s);
    auto const said = c.verdict();
    BOOST_TEST(said.find("has it no more") != said.npos);
}

BOOST_AUTO_TEST_CASE(a_hold_that_has_ended_is_believed_by_nobody)
{
    court c{kind::plain};
    c.truth.expect_losses();
    c.do_there({"HSET", "it", field, "1"});
    auto& held = c.believe(1s);
    BOOST_TEST(!c.is_found());
    c.do_there({"DEL", "it"});
    held.mark_released({});
    BOOST_TEST(!c.is_found());
}

BOOST_AUTO_TEST_CASE(time_alone_proves_no_belief_wrong)
{
    court c{kind::plain};
    c.do_there({"HSET", "it", field, "1"});
    c.do_there({"PEXPIRE", "it", "1000"});
    c.believe(900ms);
    c.time.go_to(950ms);
    c.do_there({"DEL", "it"});
    BOOST_TEST(!c.is_found());
}

BOOST_AUTO_TEST_CASE(a_hold_that_is_lost_long_before_its_end_is_found)
{
    for (auto const left : {200ms, 300ms}) {
        court c{kind::plain};
        c.do_there({"HSET", "it", field, "1"});
        auto& held = c.believe(1s);
        BOOST_TEST(!c.is_found());
        c.time.go_to(1s - left);
        held.mark_released({});
        BOOST_TEST(c.is_found("losses") == (left > 250ms));
    }
    court c{kind::plain};
    c.truth.expect_losses();
    c.do_there({"HSET", "it", field, "1"});
    auto& held = c.believe(1s);
    BOOST_TEST(!c.is_found());
    held.mark_released({});
    BOOST_TEST(!c.is_found());
}

// The hash lives for as long as another reader, whose release would end this one's lock.
BOOST_AUTO_TEST_CASE(a_reader_has_no_more_than_its_own_lease)
{
    auto const lease_key = "{it}:" + field + ":rwlock_timeout:1";
    court c{kind::read_write};
    c.do_there({"HSET", "it", "mode", "read", field, "1"});
    c.do_there({"PEXPIRE", "it", "5000"});
    c.do_there({"SET", lease_key, "1", "PX", "1000"});
    c.believe(1s, field, false);
    BOOST_TEST(!c.is_found());
    c.do_there({"PEXPIRE", lease_key, "900"});
    BOOST_TEST(c.is_found());
}

BOOST_AUTO_TEST_CASE(a_reader_has_the_longest_of_its_leases_and_no_more_than_the_hash)
{
    auto const lease_key = "{it}:" + field + ":rwlock_timeout:";
    court c{kind::read_write};
    c.do_there({"HSET", "it", "mode", "read", field, "2"});
    c.do_there({"PEXPIRE", "it", "3000"});
    c.do_there({"SET", lease_key + "1", "1", "PX", "1000"});
    c.do_there({"SET", lease_key + "2", "1", "PX", "5000"});
    auto& held = c.believe(2s, field, false);
    BOOST_TEST(!c.is_found());
    c.show(held, 4s);
    BOOST_TEST(c.is_found());
}

BOOST_AUTO_TEST_CASE(a_writer_has_the_lease_of_the_hash)
{
    court c{kind::read_write};
    c.do_there({"HSET", "it", "mode", "write", field + ":write", "1"});
    c.do_there({"PEXPIRE", "it", "1000"});
    auto& held = c.believe(1s, field + ":write");
    BOOST_TEST(!c.is_found());
    c.show(held, 1002ms);
    BOOST_TEST(c.is_found());
}

BOOST_AUTO_TEST_CASE(a_permit_has_its_score)
{
    auto const id = decide::permit_id("81818181-8181-8181-8181-818181818181", 1);
    court c{kind::permits};
    auto const at = std::to_string(c.server().wall_clock() / 1'000 + 1'000);
    c.do_there({"ZADD", "{it}:timeout", at, id});
    auto& held = c.believe(1s, decide::hex_of(id));
    BOOST_TEST(!c.is_found());
    c.show(held, 1001ms);
    BOOST_TEST(c.is_found());
}

BOOST_AUTO_TEST_CASE(a_majority_keeps_a_red_lock)
{
    court c{kind::red, 3};
    for (std::size_t i = 0; i != 3; ++i) {
        c.server(i).ask({"HSET", "it", field, "1"});
        c.server(i).ask({"PEXPIRE", "it", std::to_string(1'000 * (i + 1))});
    }
    auto& held = c.believe(2s, "");
    BOOST_TEST(!c.is_found());
    c.show(held, 2002ms);
    BOOST_TEST(c.is_found());
}

BOOST_AUTO_TEST_CASE(all_parts_keep_a_multi_lock)
{
    court c{kind::multi, 3};
    for (std::size_t i = 0; i != 3; ++i) {
        c.server(i).ask({"HSET", "it", field, "1"});
        c.server(i).ask({"PEXPIRE", "it", std::to_string(1'000 * (i + 1))});
    }
    auto& held = c.believe(1s, "", false);  // its parts have no tokens here
    BOOST_TEST(!c.is_found());
    c.show(held, 1002ms);
    BOOST_TEST(c.is_found());
}

BOOST_AUTO_TEST_CASE(a_server_that_lost_data_excuses_what_it_had_granted)
{
    court c{kind::plain};
    c.do_there({"HSET", "it", field, "1"});
    c.believe(1s);
    c.server().empty();
    BOOST_TEST(!c.is_found());
}

// The grant, and the renewals that they have; a hold that believes in another one is found.
BOOST_AUTO_TEST_CASE(what_replicas_have_acknowledged_outlives_a_failover)
{
    for (bool const believes_renewal : {false, true})
        for (auto const left : {1000ms, 900ms}) {
            court c{kind::plain};
            c.do_there({"HSET", "it", field, "1"});
            c.do_there({"PEXPIRE", "it", std::to_string(left.count())});
            auto& held = c.believe(950ms, field, true, 2);
            c.server().fall_behind();
            c.do_there({"PEXPIRE", "it", "3000"});
            if (believes_renewal)
                c.show(held, 3s);
            BOOST_TEST(!c.is_found());
            c.server().fail_over();
            BOOST_TEST(c.is_found() == (believes_renewal || left < 950ms));
        }
}

// ---- acquire_options::at_least -----------------------------------------------------------------

BOOST_AUTO_TEST_CASE(a_lock_that_was_to_stay_taken_and_is_free_is_found)
{
    court c{kind::plain};
    c.do_there({"HSET", "it", field, "1"});
    c.do_there({"PEXPIRE", "it", "1000"});
    c.believe(100ms);
    c.truth.reserve(*c.stays.front(), c.time.now(), 1000ms);
    c.truth.leave(c.stays.front(), "leaves");
    BOOST_TEST(!c.is_found("at_least"));
    c.do_there({"PEXPIRE", "it", "300"});
    BOOST_TEST(!c.is_found("at_least"));
    c.time.go_to(300ms);
    BOOST_TEST(!c.is_found("at_least"));
    c.time.go_to(301ms);
    BOOST_TEST(c.is_found("at_least"));
    c.time.go_to(988ms);  // 1 % and 2 ms before its end
    BOOST_TEST(!c.is_found("at_least"));
}

BOOST_AUTO_TEST_CASE(a_newcomer_in_a_lock_that_was_to_stay_taken_is_found)
{
    court c{kind::plain};
    c.do_there({"HSET", "it", field, "1"});
    c.believe(100ms);
    c.truth.reserve(*c.stays.front(), c.time.now(), 1000ms);
    c.truth.leave(c.stays.front(), "leaves");
    BOOST_TEST(!c.is_found("at_least"));
    c.believe(100ms);  // its owner
    c.truth.leave(c.stays.back(), "leaves");
    c.who = 2;
    BOOST_CHECK_EXCEPTION(c.believe(100ms), violation, [](violation const& found) {
        return found.rule == "at_least";
    });
    c.time.go_to(988ms);
    c.believe(100ms);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::simulation
