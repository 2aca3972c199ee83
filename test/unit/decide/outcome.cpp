// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "decide/outcome.hpp"

#include <boost/test/unit_test.hpp>

namespace {

namespace of_outcome {

using namespace colock;
using namespace colock::decide;
using namespace std::chrono_literals;

acquire_answer const granted{acquire_answer::kind::granted, 7};
acquire_answer const refused{acquire_answer::kind::refused, 0, 500};

answer of(answer::kind what) { return {.what = what}; }

BOOST_AUTO_TEST_SUITE(decide_outcome)

BOOST_AUTO_TEST_CASE(nothing_is_taken_by_a_call_that_was_not_run)
{
    for (auto const what : {answer::kind::withdrawn, answer::kind::not_now, answer::kind::failed}) {
        BOOST_TEST(!judge(of(what), {}).may_stand);
        // The call that it was part of at first may have run in part.
        BOOST_TEST(judge(of(what), {}, true).may_stand);
    }
    BOOST_TEST((judge(of(answer::kind::withdrawn), {}).what == outcome::kind::withdrawn));
    BOOST_TEST((judge(of(answer::kind::not_now), {}).what == outcome::kind::pause));
}

BOOST_AUTO_TEST_CASE(a_lost_answer_may_be_a_grant)
{
    auto const is = judge(of(answer::kind::lost), {});
    BOOST_TEST((is.what == outcome::kind::lost));
    BOOST_TEST(is.may_stand);
}

BOOST_AUTO_TEST_CASE(a_failure_has_its_reason)
{
    auto got = of(answer::kind::failed);
    got.ec = error::wrong_type;
    auto const is = judge(got, {});
    BOOST_TEST((is.what == outcome::kind::failed));
    BOOST_TEST((is.why == error::wrong_type));
}

BOOST_AUTO_TEST_CASE(a_grant_stands_until_it_has_a_holder)
{
    auto got = of(answer::kind::replied);
    BOOST_TEST((judge(got, granted).what == outcome::kind::granted));
    BOOST_TEST(judge(got, granted).may_stand);
    got.unsynced = error::not_replicated;
    BOOST_TEST((judge(got, granted).what == outcome::kind::unsynced));
    BOOST_TEST((judge(got, granted).why == error::not_replicated));
    BOOST_TEST(judge(got, granted).may_stand);
}

BOOST_AUTO_TEST_CASE(a_refusal_takes_nothing)
{
    auto const is = judge(of(answer::kind::replied), refused, true);
    BOOST_TEST((is.what == outcome::kind::refused));
    BOOST_TEST(!is.may_stand);
}

BOOST_AUTO_TEST_CASE(an_unreadable_answer_may_be_a_grant)
{
    auto const is = judge(of(answer::kind::replied), {});
    BOOST_TEST((is.what == outcome::kind::failed));
    BOOST_TEST((is.why == error::bad_reply));
    BOOST_TEST(is.may_stand);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace of_outcome

}  // namespace
