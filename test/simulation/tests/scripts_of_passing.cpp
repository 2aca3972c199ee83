// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What a release promises those that it can give the lock to.
#include "decide/names.hpp"
#include "simulation/tests/scripts.hpp"

namespace colock::simulation {

namespace {

struct passing : bench_of_scripts {
    static constexpr std::string_view channel = "redisson_lock__channel:{k}";

    passing()
    {
        redis.publish = [this](audience, std::string_view to, std::string_view payload) {
            told.append(to).append("=").append(payload).append(" ");
            return to == channel ? listening : hearing;
        };
        redis.subscribers = [this](audience, std::string_view) { return hearing; };
    }

    /// The entry of a waiter of this lock.
    static std::string entry(std::string_view field, std::string_view lock = "k")
    {
        return std::string{field} + "|3000|secret|" + std::string{lock} + "|0colock_fence:{1}";
    }
    reply acquire(std::string_view field, std::string_view place = "", std::string const& with = {})
    {
        auto const where = with.empty()
            ? std::string{place} + ":" + std::string{channel}
            : decide::place_and_entry<std::string>(place, with, channel);
        return run(scripts::acquire, {"k", "colock_fence:{1}"}, {"1", field, "30000", "1", where});
    }
    reply wait(std::string_view field) { return acquire(field, "last", entry(field)); }
    reply release(std::string_view field, std::string_view lock = "k")
    {
        return run(scripts::release, {lock}, {field, channel, "colock_wait:{k}", ""});
    }
    reply leave(std::string_view field)
    {
        return run(scripts::leave, {"k"}, {channel, std::string{field} + "|"});
    }
    std::string owner() { return text({"HGET", "k", "b:1"}) == "1" ? "b:1" : ""; }
    std::int64_t waiting() { return number({"LLEN", "colock_wait:{k}"}); }

    std::int64_t listening = 0;  ///< to the lock's own channel
};

BOOST_FIXTURE_TEST_SUITE(scripts_of_passing, passing)

BOOST_AUTO_TEST_CASE(a_release_gives_the_lock_to_the_first)
{
    acquire("a:1");
    wait("b:1");
    wait("c:1");
    release("a:1");
    auto const token = std::to_string(begin + 2);
    BOOST_TEST(
        heard() ==
        "redisson_lock__channel:{k}=0 redisson_lock__channel:{k}:b=0:1:" + token + ":secret "
    );
    BOOST_TEST(owner() == "b:1");
    BOOST_TEST(number({"HLEN", "k"}) == 1);
    BOOST_TEST(pttl("k") == 3'000);
    BOOST_TEST(waiting() == 1);
}

// Who writes into the list must not write any other key by the hand of the client that releases.
BOOST_AUTO_TEST_CASE(an_entry_names_a_counter_of_tokens_and_no_other_key)
{
    ask({"SET", "other", "41"});
    for (auto const* const counter : {"0other", "fother", "0redisson_lock_token:{another}"}) {
        acquire("a:1");
        ask({"RPUSH", "colock_wait:{k}", std::string{"b:1|3000|secret|k|"} + counter});
        heard();
        release("a:1");
        BOOST_TEST(heard() == "redisson_lock__channel:{k}=0 redisson_lock__channel:{k}:b=0:1 ");
        BOOST_TEST(!exists("k"));
        BOOST_TEST(text({"GET", "other"}) == "41");
    }
    acquire("a:1");
    ask({"RPUSH", "colock_wait:{k}", "b:1|3000|secret|k|0redisson_lock_token:{k}"});
    release("a:1");
    BOOST_TEST(owner() == "b:1");
}

BOOST_AUTO_TEST_CASE(while_somebody_listens_to_the_lock_the_first_has_to_ask)
{
    acquire("a:1");
    wait("b:1");
    heard();
    listening = 2;
    release("a:1");
    BOOST_TEST(heard() == "redisson_lock__channel:{k}=0 redisson_lock__channel:{k}:b=2:1 ");
    BOOST_TEST(!exists("k"));
    BOOST_TEST(waiting() == 0);
}

BOOST_AUTO_TEST_CASE(the_dead_get_nothing)
{
    acquire("a:1");
    wait("b:1");
    auto const before = number({"GET", "colock_fence:{1}"});
    heard();
    hearing = 0;
    release("a:1");
    BOOST_TEST(!exists("k"));
    BOOST_TEST(waiting() == 0);
    BOOST_TEST(number({"GET", "colock_fence:{1}"}) == before);
    // Not even a message: over a replica or another node it might be heard all the same.
    BOOST_TEST(heard() == "redisson_lock__channel:{k}=0 ");
}

BOOST_AUTO_TEST_CASE(what_was_told_is_not_taken_back)
{
    acquire("a:1");
    wait("b:1");
    redis.subscribers = [](audience, std::string_view) { return 1; };
    hearing = 0;
    release("a:1");
    BOOST_TEST(owner() == "b:1");
    BOOST_TEST(pttl("k") == 3'000);
}

// As after a crash of a whole fleet that waited for one name.
BOOST_AUTO_TEST_CASE(hundreds_of_dead_clients_are_passed_over)
{
    acquire("a:1");
    for (int n = 0; n != 1'000; ++n)
        ask({"RPUSH", "colock_wait:{k}", "dead" + std::to_string(n)});
    wait("b:1");
    auto const is_alive = [](std::string_view to) { return to.ends_with(":b"); };
    redis.subscribers = [&](audience, std::string_view to) { return is_alive(to) ? 1 : 0; };
    redis.publish = [&](audience, std::string_view to, std::string_view) {
        return is_alive(to) ? 1 : 0;
    };
    release("a:1");
    BOOST_TEST(owner() == "b:1");
    BOOST_TEST(waiting() == 0);
}

// The locks `k` and `{k}` have the same channel, and the same list.
BOOST_AUTO_TEST_CASE(a_waiter_gets_the_lock_that_it_waits_for)
{
    acquire("a:1");
    wait("b:1");
    ask({"HSET", "{k}", "d:1", "1"});
    heard();
    release("d:1", "{k}");
    BOOST_TEST(heard() == "redisson_lock__channel:{k}=0 redisson_lock__channel:{k}:b=0:1 ");
    BOOST_TEST(!exists("{k}"));
    BOOST_TEST(owner().empty());
}

BOOST_AUTO_TEST_CASE(a_lock_that_is_taken_again_stays_with_its_owner)
{
    acquire("a:1");
    wait("b:1");
    ask({"HSET", "k", "e:1", "1"});
    release("a:1");
    BOOST_TEST(owner().empty());
    BOOST_TEST(text({"HGET", "k", "e:1"}) == "1");
}

BOOST_AUTO_TEST_CASE(a_waiter_that_gives_up_gives_back_what_it_was_given)
{
    acquire("a:1");
    wait("b:1");
    wait("c:1");
    release("a:1");
    heard();
    BOOST_TEST(is(leave("b:1"), 0));
    BOOST_TEST(!exists("k"));
    BOOST_TEST(heard() == "redisson_lock__channel:{k}=0 redisson_lock__channel:{k}:c=0:1 ");
    BOOST_TEST(waiting() == 0);
}

BOOST_AUTO_TEST_CASE(what_others_have_is_not_given_back)
{
    acquire("a:1");
    wait("b:1");
    leave("c:1");
    BOOST_TEST(text({"HGET", "k", "a:1"}) == "1");
}

BOOST_AUTO_TEST_CASE(a_number_is_put_into_the_list_once)
{
    acquire("a:1");
    wait("b:1");
    auto found = acquire("b:1", "check", entry("b:1"));
    BOOST_TEST_REQUIRE(found.items.size() == 3U);
    BOOST_TEST(found.items[2].number % 2 == 1);
    ask({"DEL", "colock_wait:{k}"});
    found = acquire("b:1", "check", entry("b:1"));
    BOOST_TEST_REQUIRE(found.items.size() == 3U);
    BOOST_TEST(found.items[2].number % 2 == 0);
    BOOST_TEST(waiting() == 0);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::simulation
