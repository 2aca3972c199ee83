// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "core/reliable.hpp"
#include "core/script_call.hpp"
#include "unit/harness.hpp"

namespace colock::test {

namespace {

using how_answered = answer::kind;

constexpr reliable::terms always{.idempotent = true, .owed = true};

/// A task that sends one step, and writes down each answer that it gets.
struct sender : harness {
    void begin(reliable::terms how = {})
    {
        run_task(*this, how);
        time.settle();
    }

    // NOLINTNEXTLINE(*-avoid-reference-coroutine-parameters): the test ends later
    static strand_task run_task(sender& of, reliable::terms how)
    {
        answer got;
        do {
            script_call now{{&scripts::inspect, {"k"}, {}}, decide::slot_of("k")};
            got = co_await of.sending.send(now.call, how.until);
            of.answers.push_back(got.what);
        } while (co_await of.sending.repeats(got, how) && of.is_wanted);
        of.is_over = true;
    }

    void give_up()
    {
        is_wanted = false;
        sending.withdraw();
        time.settle();
    }

    auto& next() { return server->expect(scripts::inspect); }
    bool ends_with(std::vector<how_answered> const& all) const { return is_over && answers == all; }

    reliable sending{inside()};
    std::vector<how_answered> answers;
    bool is_wanted = true;
    bool is_over = false;
};

BOOST_FIXTURE_TEST_SUITE(service_reliable, sender)

BOOST_AUTO_TEST_CASE(pauses_grow_until_there_is_another_answer)
{
    for (auto i = 0; i != 4; ++i)
        next().not_now();
    begin();
    for (auto const longest : {20ms, 40ms, 80ms, 100ms}) {  // up to a fortieth of the lease
        auto const began = time.now();
        auto const before = answers.size();
        if (before == 4)
            next().lose();
        BOOST_TEST(time.advance_until([&] { return answers.size() != before; }, longest));
        BOOST_TEST((time.now() - began >= longest / 2));
    }
    BOOST_TEST(is_over);
    next().not_now();
    next().reply(done());
    begin();
    time.advance(20ms);
    BOOST_TEST(server->all_came());
}

BOOST_AUTO_TEST_CASE(a_pause_ends_when_a_server_is_reached)
{
    next().not_now();
    begin();
    cut();
    next().reply(done());
    mend();
    BOOST_TEST(ends_with({how_answered::not_now, how_answered::replied}));
}

BOOST_AUTO_TEST_CASE(an_idempotent_step_that_is_lost_is_sent_again_at_once)
{
    next().lose();
    next().lose();
    next().out_of_memory();
    begin({.idempotent = true});
    BOOST_TEST(ends_with({how_answered::lost, how_answered::lost, how_answered::failed}));
}

BOOST_AUTO_TEST_CASE(what_may_pass_is_repeated_only_if_it_is_owed)
{
    next().out_of_memory();
    next().lose();
    begin({.owed = true});
    server->down_reason_to_tell = error::server_refused;
    cut();
    time.advance(20ms);
    mend();
    BOOST_TEST(ends_with({how_answered::failed, how_answered::failed, how_answered::lost}));
    next().fail(error::wrong_type);
    begin(always);
    BOOST_TEST(answers.size() == 4U);  // a refusal is final
}

BOOST_AUTO_TEST_CASE(nothing_is_sent_after_its_time)
{
    auto how = always;
    how.until = clock::now() + 50ms;
    auto& slow = next();
    begin(how);
    time.advance(50ms);
    BOOST_TEST(!is_over);
    lose(slow);
    BOOST_TEST(ends_with({how_answered::lost}));
    cut();
    how.until = clock::now() + 50ms;
    begin(how);
    time.advance(50ms);
    BOOST_TEST(ends_with({how_answered::lost, how_answered::withdrawn}));
    BOOST_TEST(server->unsent() == 0U);
}

BOOST_AUTO_TEST_CASE(withdrawing_takes_back_what_is_not_written)
{
    cut();
    begin();
    BOOST_TEST(sending.withdraw());
    BOOST_TEST(server->unsent() == 1U);  // the task has sent another
    give_up();
    BOOST_TEST(ends_with({how_answered::withdrawn, how_answered::withdrawn}));
    BOOST_TEST(server->unsent() == 0U);
}

BOOST_AUTO_TEST_CASE(withdrawing_does_not_stop_what_is_written)
{
    auto& written = next();
    begin(always);
    give_up();
    BOOST_TEST(bool{sending});
    lose(written);
    BOOST_TEST(ends_with({how_answered::lost}));
    BOOST_TEST(!sending.withdraw());
}

BOOST_AUTO_TEST_CASE(withdrawing_ends_a_pause)
{
    next().not_now();
    begin();
    give_up();
    BOOST_TEST(ends_with({how_answered::not_now}));
}

BOOST_AUTO_TEST_CASE(a_stopped_client_sends_nothing_again)
{
    next().lose();
    next().not_now();
    begin(always);
    stop();
    BOOST_TEST(ends_with({how_answered::lost, how_answered::not_now}));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
