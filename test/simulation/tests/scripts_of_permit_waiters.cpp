// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What the scripts of semaphores promise those that wait in the list.
#include "simulation/tests/scripts.hpp"

#include <sstream>

namespace colock::simulation {

namespace {

struct permit_waiters : bench_of_scripts {
    permit_waiters()
    {
        ask({"SET", "k", "0"});
        redis.subscribers = [this](audience, std::string_view channel) {
            bool const is_of_client = channel.find("}:") != channel.npos;
            return is_of_client ? hearing : 0;
        };
    }

    reply take(std::string_view place, std::string_view client, std::string_view permits = "1")
    {
        auto const where = std::string{place} + ":redisson_sc:{k}";
        return run(
            scripts::semaphore_acquire,
            {"k", client},
            {permits, std::to_string(++number_), "3600000", where, client}
        );
    }
    reply lease(std::string_view place, std::string_view client, std::string_view ids)
    {
        auto const where = std::string{place} + ":redisson_sc:{k}";
        return run(scripts::permit_acquire, {"k", "leases"}, {ids, "1000", where, client});
    }
    reply give(std::string_view permits)
    {
        return run(
            scripts::semaphore_release,
            {"k", "changes"},
            {permits, std::to_string(++number_), "3600000", "redisson_sc:{k}"}
        );
    }
    reply leave(std::string_view entry)
    {
        return run(scripts::leave, {"k"}, {"redisson_sc:{k}", entry});
    }
    /// To whom messages went; `*` stands for all that listen to the semaphore's channel.
    std::string told_to()
    {
        std::istringstream words{heard()};
        std::string all;
        for (std::string each; words >> each;) {
            auto const end = each.find('=');
            auto const colon = each.find(':', each.find('}'));
            all += colon == each.npos ? "*" : each.substr(colon + 1, end - colon - 1);
        }
        return all;
    }
    std::string list()
    {
        std::string all;
        for (auto const& each : ask({"LRANGE", "colock_wait:{k}", "0", "-1"}).items)
            all += each.text + " ";
        return all;
    }
    static bool stands(reply const& got, std::int64_t what)
    {
        return got.what == reply::kind::list && got.items.size() == 3 && is(got.items[2], what);
    }
    std::string left() { return text({"GET", "k"}); }

private:
    int number_ = 0;
};

BOOST_FIXTURE_TEST_SUITE(scripts_of_permit_waiters, permit_waiters)

BOOST_AUTO_TEST_CASE(the_first_alone_listens_to_the_common_channel)
{
    BOOST_TEST(stands(take("", ""), 2));
    BOOST_TEST(stands(take("last", "a"), 5));
    BOOST_TEST(stands(take("last", "b", "2"), 3));
    BOOST_TEST(stands(take("check", "a"), 5));
    BOOST_TEST(stands(take("check", "b", "2"), 3));
    BOOST_TEST(stands(take("first", "c"), 5));
    BOOST_TEST(list() == "c a b:2 ");
    BOOST_TEST(pttl("colock_wait:{k}") == 120'000);
}

BOOST_AUTO_TEST_CASE(a_release_tells_those_that_can_get_in)
{
    for (auto const* const each : {"a", "b", "c", "d"})
        take("last", each);
    give("1");
    BOOST_TEST(told_to() == "*a");
    BOOST_TEST(is(take("first", "a"), 1));
    give("2");
    BOOST_TEST(told_to() == "*bc");
    BOOST_TEST(list() == "d ");
    give("-1");
    BOOST_TEST(told_to() == "*");  // none has come
}

BOOST_AUTO_TEST_CASE(what_has_come_before_is_for_one_more)
{
    for (auto const* const each : {"a", "b", "c", "d"})
        take("last", each);
    ask({"SET", "k", "5"});
    give("1");
    BOOST_TEST(told_to() == "*ab");
}

BOOST_AUTO_TEST_CASE(who_wants_more_keeps_its_place)
{
    take("last", "a", "3");
    take("last", "b", "2");
    take("last", "c");
    take("last", "d");
    give("1");
    BOOST_TEST(told_to() == "*c");
    BOOST_TEST(list() == "a:3 b:2 d ");
    give("1");  // c has not come yet
    BOOST_TEST(told_to() == "*b");
    BOOST_TEST(list() == "a:3 d ");
    BOOST_TEST(pttl("colock_wait:{k}") == 120'000);
    ask({"DEL", "colock_wait:{k}"});
    ask({"SET", "k", "0"});
    take("last", "a", "3");
    give("1");
    BOOST_TEST(list() == "a:3 ");
    BOOST_TEST(pttl("colock_wait:{k}") == 120'000);  // and ends if nobody keeps it
}

BOOST_AUTO_TEST_CASE(a_release_looks_past_64_who_want_more)
{
    for (int i = 1; i <= 64; ++i) {
        if (i == 64)
            take("last", "near");
        take("last", "big" + std::to_string(i), "3");
    }
    take("last", "far");
    give("1");
    BOOST_TEST(told_to() == "*near");  // behind 63
    take("", "", "1");
    give("1");
    BOOST_TEST(told_to() == "*");
    BOOST_TEST(list().ends_with("big64:3 far "));
}

BOOST_AUTO_TEST_CASE(who_wants_more_keeps_its_place_where_channels_are_sharded)
{
    redis.subscribers = [](audience to, std::string_view channel) {
        return channel.find("}:") != channel.npos && to == audience::shard_channel ? 1 : 0;
    };
    for (auto const* const form :
         {scripts::semaphore_release.sharded, scripts::semaphore_release.both}) {
        ask({"DEL", "colock_wait:{k}", "changes"});
        ask({"SET", "k", "0"});
        take("last", "a", "3");
        run(*form, {"k", "changes"}, {"1", "1", "3600000", "redisson_sc:{k}"});
        BOOST_TEST(list() == "a:3 ");
    }
}

BOOST_AUTO_TEST_CASE(the_dead_are_passed_over)
{
    for (auto const* const each : {"a", "b"})
        take("last", each);
    hearing = 0;
    give("1");
    BOOST_TEST(told_to() == "*ab");
    BOOST_TEST(list().empty());
}

BOOST_AUTO_TEST_CASE(who_gets_in_untold_gives_its_place_up_and_tells_the_next)
{
    for (auto const* const each : {"a", "b", "c"})
        take("last", each);
    ask({"SET", "k", "1"});  // by somebody who does not know the list
    BOOST_TEST(is(take("check", "a"), 1));
    BOOST_TEST(told_to() == "b");  // so that it listens
    BOOST_TEST(list() == "c ");
}

BOOST_AUTO_TEST_CASE(who_leaves_when_its_turn_was_told_tells_those_that_can_get_in)
{
    for (auto const* const each : {"a", "b", "c"})
        take("last", each);
    BOOST_TEST(is(leave("c"), 1));
    BOOST_TEST(told_to().empty());
    ask({"SET", "k", "1"});
    BOOST_TEST(is(leave("d"), 0));
    BOOST_TEST(told_to() == "a");
}

BOOST_AUTO_TEST_CASE(the_next_one_listens_when_the_first_leaves)
{
    take("last", "a");
    take("last", "b", "2");
    BOOST_TEST(is(leave("a"), 1));
    BOOST_TEST(told_to() == "b");
    BOOST_TEST(stands(take("first", "b", "2"), 5));
    BOOST_TEST(list() == "b:2 ");
}

BOOST_AUTO_TEST_CASE(the_next_one_listens_even_if_too_few_are_left_for_it)
{
    for (auto const* const each : {"a", "b"})
        take("last", each, "2");
    ask({"SET", "k", "3"});  // by somebody who does not know the list
    BOOST_TEST(is(take("check", "a", "2"), 1));
    BOOST_TEST(told_to() == "b");
}

BOOST_AUTO_TEST_CASE(what_is_too_little_for_the_first_is_told_to_others)
{
    take("last", "a", "3");
    for (auto const* const each : {"b", "c"})
        take("last", each);
    ask({"SET", "k", "1"});  // by somebody who does not know the list
    BOOST_TEST(stands(take("check", "a", "3"), 5));
    BOOST_TEST(told_to() == "b");
    BOOST_TEST(list() == "a:3 c ");
}

BOOST_AUTO_TEST_CASE(who_is_told_late_stands_there_once)
{
    for (auto const* const each : {"a", "b"})
        take("last", each);
    BOOST_TEST(stands(take("first", "b"), 5));
    BOOST_TEST(list() == "b a ");
}

BOOST_AUTO_TEST_CASE(the_dead_that_want_more_lose_their_places)
{
    for (auto const* const each : {"a", "b"})
        take("last", each, "3");
    hearing = 0;
    give("1");
    BOOST_TEST(told_to() == "*");
    BOOST_TEST(list().empty());
}

BOOST_AUTO_TEST_CASE(permits_whose_lease_has_ended_are_told)
{
    ask({"SET", "k", "2"});
    std::string const one(16, '1'), two(16, '2'), three(16, '3');
    BOOST_TEST(is(lease("", "", one), 1));
    BOOST_TEST(is(lease("", "", two), 1));
    lease("last", "a", three);
    lease("last", "b", three);
    heard();
    pass(1'000);
    BOOST_TEST(is(lease("check", "b", three), 1));
    BOOST_TEST(told_to() == "*a");
    BOOST_TEST(list().empty());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::simulation
