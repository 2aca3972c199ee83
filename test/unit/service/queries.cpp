// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "unit/harness.hpp"

namespace colock::test {

namespace {

BOOST_FIXTURE_TEST_SUITE(service_queries, harness)

BOOST_AUTO_TEST_CASE(is_locked_and_remaining_lease)
{
    auto const ask = [&](decide::reply r) {
        pending<bool> locked;
        pending<std::optional<milliseconds>> left;
        server->expect(scripts::inspect).reply(r);
        server->expect(scripts::inspect).reply(r);
        mutex().is_locked(locked.token());
        mutex().remaining_lease(left.token());
        time.settle();
        BOOST_TEST_REQUIRE((locked.succeeded() && left.succeeded()));
        return std::pair{locked.value(), left.value()};
    };
    BOOST_TEST((ask(inspected(1'234)) == std::pair{true, std::optional{1'234ms}}));
    BOOST_TEST((ask(inspected(-2)) == std::pair{false, std::optional<milliseconds>{}}));
    BOOST_TEST((ask(inspected(-1)) == std::pair{true, std::optional{milliseconds::max()}}));
}

BOOST_AUTO_TEST_CASE(errors_of_questions)
{
    auto const ask = [&](auto const& script) {
        pending<bool> p;
        script(server->expect(scripts::force));
        mutex().force_release(p.token());
        time.settle();
        return p;
    };
    BOOST_TEST((ask([](auto& e) { e.fail(error::wrong_type); }).ec() == error::wrong_type));
    BOOST_TEST((ask([](auto& e) { e.reply(reply::of("x")); }).ec() == error::bad_reply));
    // Forced again after a lost answer, it might be another's lock.
    BOOST_TEST((ask([](auto& e) { e.lose(); }).ec() == error::unavailable));
    server->expect(scripts::force).not_now();
    auto patient = ask([](auto& e) { e.reply(not_there()); });
    time.advance(21ms);
    BOOST_TEST(patient.gave_nothing());
    server->expect(scripts::inspect).lose();
    server->expect(scripts::inspect).reply(inspected(-2));
    auto locked = mutex().is_locked(settled());
    BOOST_TEST(locked.gave_nothing());
    auto bad = mutex("").is_locked(settled());
    BOOST_TEST((bad.ec() == error::invalid_argument));
}

BOOST_AUTO_TEST_CASE(a_question_can_be_cancelled_sent_or_not)
{
    auto& silent = server->expect(scripts::inspect);
    pending<bool> unsent;
    auto sent = mutex().is_locked(settled());
    cancel(sent);
    BOOST_TEST(sent.aborted());
    respond(silent, inspected(1));
    BOOST_TEST(sent.calls() == 1);
    cut();
    mutex().is_locked(unsent.token());
    time.settle();
    cancel(unsent);
    BOOST_TEST(unsent.aborted());
    BOOST_TEST(server->unsent() == 0U);
}

BOOST_AUTO_TEST_CASE(a_question_that_pauses_ends_with_its_client)
{
    server->expect(scripts::inspect).not_now();
    auto asked = mutex().is_locked(settled());
    BOOST_TEST(!asked.is_done());
    stop();
    BOOST_TEST((asked.ec() == error::closed));
}

BOOST_AUTO_TEST_CASE(the_numbers_of_a_moment)
{
    auto const first = held();
    server->serve = [](call const&) { return answer{answer::kind::replied, done(), {}, {}}; };
    auto waiting = acquire();
    auto const stats = client.stats();
    BOOST_TEST(stats.links_up == 4U);  // `config::links`: nothing is subscribed
    BOOST_TEST(stats.holds == 1U);
    BOOST_TEST(stats.waiters == 1U);
    BOOST_TEST(stats.keys == 1U);
    BOOST_TEST(stats.reconnects == 0U);
    server->link_down(1);
    server->link_up(1);
    time.settle();
    BOOST_TEST(client.stats().reconnects == 1U);
    BOOST_TEST(events->count("link_up") == 6);  // a renewal has opened the mailbox
    BOOST_TEST(events->count("link_down") == 1);
    server->pubsub_down();
    server->pubsub_up();
    time.settle();
    BOOST_TEST(client.stats().reconnects == 2U);
    BOOST_TEST(events->count("link_up") == 7);
    BOOST_TEST(events->count("link_down") == 2);
}

// It asks for the lock, and then for those who have it.
BOOST_AUTO_TEST_CASE(a_picture_has_one_limit_for_both_rounds)
{
    script_server redis;
    redis.attach(*server);
    auto const mine = acquire();
    std::vector<std::pair<std::size_t, call>> asked;
    server->serve = [&](call const& c) -> std::optional<answer> {
        asked.emplace_back(server->written().size() - 1, c);
        return {};
    };
    pending<lock_info> looked;
    client.inspect("k", looked.token());
    time.settle();
    time.advance(1'900ms);
    for (auto const& [n, c] : std::exchange(asked, {}))
        server->answer_call(n, {answer::kind::replied, redis.run(c), {}, c.sent});
    time.settle();
    BOOST_TEST_REQUIRE(!asked.empty());
    BOOST_TEST(!looked.is_done());
    time.advance(101ms);
    BOOST_TEST((looked.ec() == error::unavailable));
    redis.attach(*server);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
