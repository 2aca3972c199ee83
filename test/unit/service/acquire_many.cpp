// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "client/client_access.hpp"
#include "unit/service/group.hpp"
#include <colock/acquire_many.hpp>

#include <boost/asio/use_future.hpp>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace colock::test {

namespace {

using pending_many = pending<held_locks>;

struct many_names : served {
    using names = std::vector<std::string>;

    pending_many take_many(names all, acquire_many_options options = {})
    {
        return acquire_many(client, std::move(all), std::move(options), settled());
    }
    pending_many take_free(names all, acquire_options with = {})
    {
        return take_many(std::move(all), {.take = many::free, .with = with});
    }
    static names numbered(int count)
    {
        names all;
        for (int i = 0; i != count; ++i)
            all.push_back("n" + std::to_string(i));
        return all;
    }
};

BOOST_FIXTURE_TEST_SUITE(service_acquire_many, many_names)

BOOST_AUTO_TEST_CASE(all_are_asked_in_one_turn)
{
    auto got = take_many({"a", "b", "c"});
    BOOST_TEST_REQUIRE(got.succeeded());
    BOOST_TEST(server->count(scripts::acquire) == 3U);
    BOOST_TEST((server->written().front().sent == server->written().back().sent));
    auto& all = got.value();
    BOOST_TEST(all.size() == 3U);
    BOOST_TEST(all.held() == 3U);
    BOOST_TEST(all[1].name() == "b");
    BOOST_TEST(all[1].fencing_token() != 0U);
    BOOST_TEST((all[0].as() == all[2].as()));
    BOOST_TEST(all.release(settled()).succeeded());
    BOOST_TEST(all.empty());
    for (auto const* name : {"a", "b", "c"})
        BOOST_TEST(!redis.is_locked(name));
}

BOOST_AUTO_TEST_CASE(all_waits_for_those_that_others_have)
{
    redis.occupy("b", 500ms);
    auto got = take_many({"c", "b", "a"});
    BOOST_TEST(!got.is_done());
    BOOST_TEST(redis.is_locked("a"));  // before b in the order of all
    BOOST_TEST(!redis.is_locked("c"));
    time.advance(600ms);
    BOOST_TEST_REQUIRE(got.succeeded());
    BOOST_TEST(got.value().held() == 3U);
    BOOST_TEST(got.value()[0].name() == "c");
}

BOOST_AUTO_TEST_CASE(all_or_none_within_a_limit)
{
    redis.occupy("b", 10s);
    for (auto const wait : {0ms, 500ms}) {
        auto got = take_many({"a", "b"}, {.wait = wait});
        time.advance(600ms);
        BOOST_TEST_REQUIRE(got.succeeded());
        BOOST_TEST(got.value().empty());
        BOOST_TEST(!redis.is_locked("a"));
    }
}

BOOST_AUTO_TEST_CASE(free_takes_what_nobody_has)
{
    redis.occupy("b", 10s);
    auto got = take_free({"a", "b", "c"});
    BOOST_TEST_REQUIRE(got.succeeded());
    auto& all = got.value();
    BOOST_TEST(all.size() == 3U);
    BOOST_TEST((all[0] && !all[1] && all[2]));
    BOOST_TEST(all.held() == 2U);
    BOOST_TEST(all.release(settled()).succeeded());
    BOOST_TEST((!redis.is_locked("a") && redis.is_locked("b") && !redis.is_locked("c")));
}

BOOST_AUTO_TEST_CASE(each_hold_goes_its_own_way)
{
    auto got = take_free({"a", "b", "c"});
    auto& all = got.value();
    auto kept = std::move(all[0]);
    force("b");
    BOOST_TEST((kept && !all[1] && all[2]));
    BOOST_TEST((all.release(settled()).ec() == error::lost));
    BOOST_TEST((redis.is_locked("a") && !redis.is_locked("c")));
    time.advance(10s);
    BOOST_TEST(bool{kept});  // it is renewed
}

BOOST_AUTO_TEST_CASE(destroying_it_releases_all)
{
    {
        auto got = take_free({"a", "b"});
        BOOST_TEST(got.succeeded());
    }
    time.settle();
    BOOST_TEST(!redis.is_locked("a"));
    BOOST_TEST(!redis.is_locked("b"));
}

BOOST_AUTO_TEST_CASE(a_refusal_of_one_leaves_nothing)
{
    for (auto const take : {many::free, many::all}) {
        server->expect(scripts::acquire).fail(error::server_refused);  // the first of them
        auto got = take_many({"a", "b", "c"}, {.take = take});
        BOOST_TEST((got.ec() == error::server_refused));
        BOOST_TEST(!redis.is_locked("b"));
        BOOST_TEST(!redis.is_locked("c"));
    }
}

BOOST_AUTO_TEST_CASE(a_cancellation_leaves_nothing)
{
    never_answer();
    auto got = take_free({"a", "b"});
    got.cancel();
    time.settle();
    BOOST_TEST(got.aborted());
    serve_again();
    for (std::size_t n : {0U, 1U})
        server->answer_call(n, *server->serve(server->written()[n]));
    time.advance(1s);
    BOOST_TEST(!redis.is_locked("a"));
    BOOST_TEST(!redis.is_locked("b"));
}

// It asks for a part of them in each turn of the strand.
BOOST_AUTO_TEST_CASE(a_cancellation_between_ends_the_asking)
{
    for (auto const take : {many::free, many::all}) {
        pending_many got;
        auto const asked = server->count(scripts::acquire);
        auto const serve = server->serve;
        server->serve = [&](call const& one) {
            got.cancel();
            return serve(one);
        };
        acquire_many(client, numbered(1'000), {.take = take}, got.token());
        time.settle();
        server->serve = serve;
        time.advance(1s);
        BOOST_TEST(got.aborted());
        BOOST_TEST(server->count(scripts::acquire) - asked < 500U);
        BOOST_TEST(client.stats().keys == 0U);
        for (auto const& name : numbered(1'000))
            BOOST_TEST(!redis.is_locked(name), name);
    }
}

BOOST_AUTO_TEST_CASE(bad_input_sends_nothing)
{
    auto const is_refused = [this](names all, acquire_many_options options = {}) {
        auto got = take_many(std::move(all), std::move(options));
        return got.ec() == error::invalid_argument && server->written().empty();
    };
    BOOST_TEST(is_refused({}));
    BOOST_TEST(is_refused({"a", "b", "a"}));
    BOOST_TEST(is_refused({"a", ""}));
    BOOST_TEST(is_refused(numbered(int{most_names} + 1)));
    BOOST_TEST(is_refused({"a"}, {.wait = -1ms}));
    BOOST_TEST(is_refused({"a"}, {.take = many::free, .wait = 1s}));
    BOOST_TEST(is_refused({"a"}, {.with = {.lease = 1ms}}));
    BOOST_TEST(is_refused({"a"}, {.with = {.at_least = 1s}}));
}

BOOST_AUTO_TEST_CASE(as_many_as_it_may_be)
{
    auto got = take_free(numbered(int{most_names}));
    BOOST_TEST_REQUIRE(got.succeeded());
    BOOST_TEST(got.value().held() == most_names);
    BOOST_TEST(got.value().release(settled()).succeeded());
    BOOST_TEST(client.stats().keys == 0U);
}

BOOST_AUTO_TEST_CASE(all_of_many_waits_for_the_last)
{
    auto all = numbered(2'000);
    redis.occupy(all.back(), 500ms);
    auto got = take_many(all);
    BOOST_TEST(!got.is_done());
    time.advance(600ms);
    BOOST_TEST_REQUIRE(got.succeeded());
    BOOST_TEST(got.value().held() == all.size());
}

// The process stood still after the last answer; then nothing is asked of what has lapsed.
BOOST_AUTO_TEST_CASE(what_has_lapsed_meanwhile_is_no_success)
{
    auto const serve = server->serve;
    for (auto const take : {many::free, many::all}) {
        never_answer();
        if (take == many::free)
            redis.occupy("b", 1'700ms);
        auto const from = server->written().size();
        {
            auto got = take_many({"a", "b"}, {.take = take, .with = {.lease = 1s}});
            BOOST_TEST_REQUIRE(server->written().size() == from + 2);
            server->answer_call(from, *serve(server->written()[from]));
            time.settle();
            time.jump(1'500ms);
            server->answer_call(from + 1, *serve(server->written()[from + 1]));
            serve_again();
            time.advance(300ms);
            BOOST_TEST_REQUIRE(got.is_done());
            BOOST_TEST((take == many::all || got.ec() == error::lost), got.ec().message());
            BOOST_TEST(got.value().held() == (take == many::all ? 2U : 0U));
        }
        time.advance(1s);
    }
}

BOOST_AUTO_TEST_CASE(an_owner_enters_what_it_has)
{
    owner const me;
    auto outer = take(mutex("a"), {.as = me});
    auto got = take_free({"a", "b"}, {.as = me});
    BOOST_TEST_REQUIRE(got.succeeded());
    BOOST_TEST(got.value().held() == 2U);
    BOOST_TEST(got.value().release(settled()).succeeded());
    BOOST_TEST(redis.is_locked("a"));
}

BOOST_AUTO_TEST_CASE(a_close_ends_it)
{
    redis.occupy("b", 10s);
    auto got = take_many({"a", "b"});
    auto closed = client.close(settled());
    BOOST_TEST((got.ec() == error::closed));
    BOOST_TEST(closed.succeeded());
    BOOST_TEST(!redis.is_locked("a"));
}

// The client ends only when it has begun all of them.
BOOST_AUTO_TEST_CASE(a_client_that_is_destroyed_meanwhile_releases_all)
{
    struct other {
        explicit other(detail::core_ptr of) : client{detail::client_access::make(std::move(of))} {}
        colock::client client;
    };
    auto dying = std::make_unique<other>(make_core(short_leases()));
    redis.attach(*server);
    pending<> its_run;
    dying->client.run(its_run.token());
    auto const all = numbered(1'000);
    auto got = acquire_many(dying->client, all, {}, settled());
    BOOST_TEST_REQUIRE(got.succeeded());
    for (std::size_t i = 0; i != 200; ++i)
        BOOST_TEST(got.value()[i].release(settled()).succeeded());
    pending<> released;
    got.value().release(released.token());
    dying.reset();
    time.settle();
    for (auto const& name : all)
        BOOST_TEST(!redis.is_locked(name), name);
}

BOOST_AUTO_TEST_CASE(an_empty_one_has_nothing_to_release)
{
    held_locks none;
    none.release(asio::use_future).get();  // it has no client, so on a thread of the system
    BOOST_TEST((none.empty() && none.held() == 0));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
