// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
// What the live page shows, from one reading to the next.
#include "web/board.hpp"

#include <boost/json/serialize.hpp>
#include <boost/test/unit_test.hpp>

#include <string>
#include <utility>

namespace cli::web {

namespace {

using std::chrono::seconds;

std::string const ours = "11111111-2222-3333-4444-555555555555:7";
std::string const theirs = "99999999-2222-3333-4444-555555555555:1";

struct board_fixture {
    /// A reading after so many seconds.
    reading at(
        seconds when, std::vector<std::string> owners, std::optional<milliseconds> lease = {}
    )
    {
        picture p;
        p.key = "k";
        p.what = owners.empty() ? picture::content::nothing : picture::content::lock;
        p.kind = "lock";
        p.lease = lease;
        for (auto& each : owners)
            p.holders.push_back({std::move(each), {}, 1});
        auto const then = steady_time{} + when;
        return {p, then, then, wall_time{} + when};
    }

    std::string holder_of_first() const
    {
        auto const all = tested.to_json();
        return boost::json::serialize(all.at(0).at("holders").at(0));
    }

    board tested;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(web_board, board_fixture)

BOOST_AUTO_TEST_CASE(a_holder_of_the_first_round_came_before)
{
    BOOST_TEST(tested.take(at(seconds{5}, {ours})).empty());
    BOOST_TEST(holder_of_first().ends_with(R"("seen_at":5000,"seen_to_come":false})"));
}

BOOST_AUTO_TEST_CASE(a_holder_that_comes_later_is_seen_to_come)
{
    tested.end_first_round();
    auto const changes = tested.take(at(seconds{5}, {ours}));
    BOOST_REQUIRE_EQUAL(changes.size(), 1);
    BOOST_TEST(changes[0].what == std::string{"acquired"});
    BOOST_TEST(changes[0].who.field == ours);
    tested.take(at(seconds{6}, {ours}));
    BOOST_TEST(holder_of_first().ends_with(R"("seen_at":5000,"seen_to_come":true})"));
}

BOOST_AUTO_TEST_CASE(a_lock_that_is_released_is_shown_no_more)
{
    tested.take(at(seconds{1}, {ours}, seconds{30}));
    auto const changes = tested.take(at(seconds{2}, {}));
    BOOST_REQUIRE_EQUAL(changes.size(), 1);
    BOOST_TEST(changes[0].what == std::string{"released"});
    BOOST_TEST(tested.size() == 0);
    BOOST_TEST(tested.take(at(seconds{3}, {})).empty());
    BOOST_TEST(tested.size() == 0);
}

BOOST_AUTO_TEST_CASE(a_hand_over_is_a_release_and_an_acquire)
{
    tested.end_first_round();
    tested.take(at(seconds{1}, {ours}, seconds{30}));
    auto const changes = tested.take(at(seconds{2}, {theirs}, seconds{30}));
    BOOST_REQUIRE_EQUAL(changes.size(), 2);
    BOOST_TEST(changes[0].what == std::string{"released"});
    BOOST_TEST(changes[1].what == std::string{"acquired"});
    BOOST_TEST(changes[1].who.field == theirs);
}

BOOST_AUTO_TEST_CASE(a_lease_that_may_have_ended_is_gone)
{
    tested.take(at(seconds{1}, {ours}, seconds{3}));
    BOOST_TEST(tested.take(at(seconds{4}, {})).at(0).what == std::string{"gone"});
}

BOOST_AUTO_TEST_CASE(nobody_knows_of_a_lease_that_nobody_has_read)
{
    tested.take(at(seconds{1}, {ours}, seconds{3}));
    tested.doubt_leases();
    BOOST_TEST(tested.to_json().at(0).at("lease_ms").to_number<int>() == 3'000);
    BOOST_TEST(tested.take(at(seconds{9}, {})).at(0).what == std::string{"released"});
}

BOOST_AUTO_TEST_CASE(of_many_readers_some_are_shown)
{
    std::vector<std::string> readers;
    for (int i = 0; i != 20; ++i)
        readers.push_back(ours + std::to_string(i));
    tested.take(at(seconds{1}, readers));
    auto const lock = tested.to_json().at(0);
    BOOST_TEST(lock.at("holders").as_array().size() == 16);
    BOOST_TEST(lock.at("more_holders").to_number<int>() == 4);
}

BOOST_AUTO_TEST_CASE(the_longer_of_two_queues_counts)
{
    auto now = at(seconds{1}, {ours});
    now.found.listeners = 1;
    now.found.queue = {theirs, theirs, theirs};
    tested.take(now);
    auto const lock = tested.to_json().at(0);
    BOOST_TEST(lock.at("waiting").to_number<int>() == 3);
    BOOST_TEST(!lock.as_object().contains("queue"));
}

BOOST_AUTO_TEST_CASE(begins_anew)
{
    tested.end_first_round();
    tested.take(at(seconds{1}, {ours}));
    tested.clear();
    BOOST_TEST(tested.keys().empty());
    BOOST_TEST(tested.take(at(seconds{2}, {theirs})).empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cli::web
