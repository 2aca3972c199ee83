// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Steps that have run and wait for replicas: what is asked, and whom an answer concerns.
#include "redis/replica_waits.hpp"
#include "unit/redis/link_rig.hpp"

#include <boost/test/unit_test.hpp>

#include <map>
#include <string>
#include <vector>

namespace colock::test {

namespace {

using namespace std::chrono_literals;

using decide::copies;

struct waiting_steps : steps_to_send, private replica_waits::listener {
    /// A step is written, and runs.
    step& run(unsigned replicas, milliseconds limit = 300ms)
    {
        auto& s = write(replicas, limit);
        finish(s);
        return s;
    }
    step& write(unsigned replicas, milliseconds limit = 300ms)
    {
        auto& s = add(scripts::acquire, "k", {"f", "300", "1"});
        s.unlink();
        s.wants = copies::of_replicas(replicas);
        s.copies_limit = limit;
        step* const written[]{&s};
        sent[&s] = now;
        waits->wrote(written, now);
        return s;
    }
    void finish(step& s) { waits->keep(s, reply::of(7), sent.at(&s)); }

    void answer(std::int64_t replicas, std::int64_t disks = 0)
    {
        waits->answered(
            reply::of(replicas), reply::of(std::vector{reply::of(disks), reply::of(0)}), now
        );
    }
    void refuse(std::string_view why) { waits->answered(reply::error(why), reply{}, now); }

    void on_waited(step& s, colock::answer&& got) override
    {
        BOOST_TEST(got.value.number == 7);
        BOOST_TEST((got.sent == sent.at(&s)));
        outcomes[&s] = got.unsynced;
        last = got;
    }
    void on_step_lost(step& s, time_point) override { lost.push_back(&s); }
    void write_wait(unsigned replicas, bool disk, milliseconds limit) override
    {
        asked.push_back(
            std::to_string(replicas) + (disk ? " and disk" : "") + " in " +
            std::to_string(limit.count())
        );
    }
    unsigned replicas_there(unsigned seen) override { return there = std::max(there, seen); }
    void look_at(time_point at) override { looks_at = at; }

    bool has(step const& s) const { return outcomes.contains(&s) && !outcomes.at(&s); }
    bool lacks(step const& s) const
    {
        return outcomes.contains(&s) && outcomes.at(&s) == error::not_replicated;
    }

    time_point now{1s};
    time_point looks_at = never;
    unsigned there = 2;
    colock::answer last;
    std::map<step const*, time_point> sent;
    std::map<step const*, error_code> outcomes;
    std::vector<step const*> lost;
    std::vector<std::string> asked;
    std::shared_ptr<replica_waits> waits =
        std::make_shared<replica_waits>(static_cast<replica_waits::listener&>(*this));
};

using strings = std::vector<std::string>;

/// What is owed, and what became of it.
struct debt final : owed_copies {
    using owed_copies::owed_copies;
    void on_covered() override { is_covered = true; }
    void on_copies_lost() override { is_lost = true; }

    bool is_covered = false, is_lost = false;
};

BOOST_FIXTURE_TEST_SUITE(redis_replica_waits, waiting_steps)

BOOST_AUTO_TEST_CASE(each_pass_ends_with_one_wait_for_the_most)
{
    auto& one = add(scripts::acquire, "k", {"f", "300", "1"});
    auto& two = add(scripts::acquire, "k", {"f", "300", "1"});
    auto& none = add(scripts::acquire, "k", {"f", "300", "1"});
    waiting.clear();
    one.wants = copies::of_replicas(1);
    two.wants = copies::of_replicas(2);
    one.copies_limit = two.copies_limit = 5ms;
    step* const written[]{&one, &two, &none};
    waits->wrote(written, now);
    step* const others[]{&none};
    waits->wrote(others, now);
    BOOST_TEST(asked == strings{"2 in 5"}, boost::test_tools::per_element());
    sent[&one] = sent[&two] = now;
    finish(one);
    finish(two);
    BOOST_TEST(!waits->is_idle());
    answer(2);
    BOOST_TEST(has(one));
    BOOST_TEST(has(two));
    BOOST_TEST(waits->is_idle());
}

BOOST_AUTO_TEST_CASE(passes_do_not_wait_for_each_other)
{
    auto& first = run(1);
    auto& second = write(1);
    BOOST_TEST(asked.size() == 2U);
    answer(1);
    BOOST_TEST(has(first));
    BOOST_TEST(outcomes.size() == 1U);
    finish(second);
    answer(1);
    BOOST_TEST(has(second));
}

BOOST_AUTO_TEST_CASE(a_short_slice_is_followed_by_another_until_the_limit)
{
    auto& patient = run(1, 300ms);
    auto& hasty = run(1, 50ms);
    BOOST_TEST(asked == (strings{"1 in 20", "1 in 20"}), boost::test_tools::per_element());
    now += 20ms;
    answer(0);
    now += 20ms;
    answer(0);
    BOOST_TEST(outcomes.empty());
    BOOST_TEST(asked.size() == 3U);  // one at a time
    now += 20ms;
    answer(0);
    BOOST_TEST(lacks(hasty));
    BOOST_TEST(outcomes.size() == 1U);
    now += 235ms;
    answer(0);
    BOOST_TEST(asked.back() == "1 in 5");  // what is left
    now += 5ms;
    answer(0);
    BOOST_TEST(lacks(patient));
    BOOST_TEST(waits->is_idle());
}

// It is a watermark of the connection.
BOOST_AUTO_TEST_CASE(the_next_wait_counts_for_what_was_short)
{
    auto& early = run(1);
    now += 20ms;
    answer(0);
    auto& late = run(2);
    BOOST_TEST(asked.size() == 2U);  // one is under way
    now += 20ms;
    answer(1);
    BOOST_TEST(has(early));
    BOOST_TEST(outcomes.size() == 1U);
    BOOST_TEST(asked.back() == "2 in 20");
    answer(2);
    BOOST_TEST(has(late));
    // A WAIT was met, so each pass has its own again.
    write(1);
    write(1);
    BOOST_TEST(asked.size() == 5U);
}

// The step was written while a WAIT was under way that did not count for it.
BOOST_AUTO_TEST_CASE(what_was_written_meanwhile_is_asked_for_next)
{
    run(1);
    answer(0);
    auto& late = write(1);
    BOOST_TEST(asked.size() == 2U);
    answer(1);
    BOOST_TEST(asked.size() == 3U);
    finish(late);
    BOOST_TEST(!outcomes.contains(&late));
    answer(1);
    BOOST_TEST(has(late));
    BOOST_TEST(asked.size() == 3U);
}

BOOST_AUTO_TEST_CASE(a_refusal_ends_the_waiting)
{
    struct {
        char const* words;
        error_code why;
    } const cases[]{
        {"UNBLOCKED force unblock from blocking operation", error::not_replicated},
        {"ERR WAIT cannot be used with replica instances. Please also note", error::not_replicated},
        {"BUSY Redis is busy running a script", error::not_replicated},
        {"NOPERM no WAIT", error::unsupported},
        {"ERR unknown command 'WAIT'", error::unsupported}};
    for (auto const& each : cases) {
        auto& s = run(1);
        refuse(each.words);
        BOOST_TEST_REQUIRE(outcomes.contains(&s));
        BOOST_TEST((outcomes.at(&s) == each.why), each.words);
        BOOST_TEST(waits->is_idle());
    }
}

BOOST_AUTO_TEST_CASE(steps_are_lost_with_their_connection)
{
    auto& s = run(1);
    answer(0);
    waits->on_lost(error::unavailable);
    BOOST_TEST_REQUIRE(lost.size() == 1U);
    BOOST_TEST((lost.front() == &s));
    BOOST_TEST(waits->is_idle());
    // The next connection begins anew.
    auto& next = run(1);
    BOOST_TEST(asked.size() == 3U);
    answer(1);
    BOOST_TEST(has(next));
}

BOOST_AUTO_TEST_CASE(an_answer_tells_which_copies_there_are)
{
    auto& s = run(1);
    answer(1);
    BOOST_TEST(has(s));
    BOOST_TEST(last.replicas == 1U);
    BOOST_TEST(last.has.covers(copies{durability::majority}));
    BOOST_TEST(!last.has.covers(copies{durability::all}));
    run(1);
    answer(2);
    BOOST_TEST(last.has.covers(copies{durability::all}));
    BOOST_TEST(!last.has.wants_disk());
}

BOOST_AUTO_TEST_CASE(the_disk_is_asked_before_the_replicas)
{
    auto& s = add(scripts::acquire, "k", {"f", "300", "1"});
    s.unlink();
    s.wants = copies{durability::disk};
    s.copies_limit = 300ms;
    sent[&s] = now;
    step* const written[]{&s};
    waits->wrote(written, now);
    BOOST_TEST(asked == strings{"1 and disk in 20"}, boost::test_tools::per_element());
    finish(s);
    answer(1, 0);
    BOOST_TEST(!outcomes.contains(&s));
    answer(0, 1);
    BOOST_TEST(!outcomes.contains(&s));
    answer(1, 1);
    BOOST_TEST(has(s));
    BOOST_TEST(last.has.covers(copies{durability::disk}));
}

BOOST_AUTO_TEST_CASE(a_question_about_replicas_alone_says_nothing_of_the_disk)
{
    auto& synced = write(0);
    synced.wants = copies{durability::disk};
    step* const written[]{&synced};
    waits->wrote(written, now);
    auto& other = write(1);
    finish(synced);
    answer(1, 0);
    finish(other);
    waits->answered(reply::of(1), reply::error("UNBLOCKED"), now);  // nothing of the disk
    BOOST_TEST(has(other));
    BOOST_TEST(!outcomes.contains(&synced));
    answer(1, 1);
    BOOST_TEST(has(synced));
}

BOOST_AUTO_TEST_CASE(what_is_owed_is_covered_by_the_next_question)
{
    auto const owed = std::make_shared<debt>(copies{durability::majority}, now + 30s);
    waits->owe(owed, now);
    BOOST_TEST(asked.empty());
    BOOST_TEST((looks_at == now + 2ms));
    auto& s = run(2);
    BOOST_TEST(asked.size() == 1U);
    answer(1);
    BOOST_TEST(owed->is_covered);
    BOOST_TEST(!outcomes.contains(&s));
    answer(2);
}

BOOST_AUTO_TEST_CASE(what_is_owed_asks_by_itself_after_a_while)
{
    auto const owed = std::make_shared<debt>(copies{durability::all}, now + 1s);
    waits->owe(owed, now);
    now += 2ms;
    waits->look(now);
    BOOST_TEST(asked == strings{"2 in 20"}, boost::test_tools::per_element());
    waits->look(now);
    BOOST_TEST(asked.size() == 1U);  // it is under way
    now += 20ms;
    answer(1);
    BOOST_TEST(!owed->is_covered);
    BOOST_TEST((looks_at == now + 4ms));
    for (int i = 0; i != 8; ++i) {
        now = looks_at;
        waits->look(now);
        answer(1);
    }
    BOOST_TEST((looks_at == now + 250ms));
    now += 1s;  // its lease is over
    waits->look(now);
    answer(1);
    BOOST_TEST(owed->is_covered);
    BOOST_TEST(!owed->is_lost);
}

BOOST_AUTO_TEST_CASE(what_is_owed_is_lost_with_the_connection)
{
    auto const owed = std::make_shared<debt>(copies{durability::replica}, now + 30s);
    waits->owe(owed, now);
    waits->lose_owed();
    BOOST_TEST(owed->is_lost);
    waits->look(now);
    BOOST_TEST(asked.empty());
}

BOOST_AUTO_TEST_CASE(only_what_has_taken_something_waits)
{
    auto& s = add(scripts::acquire, "k", {"f", "300", "1"});
    BOOST_TEST(!replica_waits::concern(s, reply::of(7)));
    s.wants = copies::of_replicas(1);
    BOOST_TEST(replica_waits::concern(s, reply::of(7)));
    BOOST_TEST(!replica_waits::concern(s, reply::of(std::vector{reply::of(7)})));
    BOOST_TEST(!replica_waits::concern(s, reply{}));
    s.repeats = true;  // what it has found done may lack copies
    BOOST_TEST(replica_waits::concern(s, reply{}));
    s.repeats = false;
    s.whole = true;  // of renewals
    BOOST_TEST(replica_waits::concern(s, reply::of(std::vector{reply{}, reply::of(1)})));
    BOOST_TEST(!replica_waits::concern(s, reply::of(std::vector{reply{}})));
    BOOST_TEST(replica_waits::concern(s, reply::of(std::vector{reply::of(0), reply::of(1)})));
    BOOST_TEST(!replica_waits::concern(s, reply::of(std::vector{reply::of(0)})));  // it is gone
    waiting.clear();
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
