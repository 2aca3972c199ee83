// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "decide/list_place.hpp"

#include <boost/test/unit_test.hpp>

namespace colock::test {

BOOST_AUTO_TEST_SUITE(decide_list_place)

using decide::list_place;

BOOST_AUTO_TEST_CASE(reads_whose_turn_it_is)
{
    BOOST_TEST(decide::read_turn("3") == 3U);
    BOOST_TEST(decide::read_turn("3:17") == 3U);  // of a client of 0.2
    BOOST_TEST(decide::read_turn("") == 0U);
    BOOST_TEST(decide::read_turn("-1") == 0U);
}

BOOST_AUTO_TEST_CASE(a_client_that_is_not_heard_takes_no_place)
{
    list_place p;
    BOOST_TEST(p.to_ask(false, false).empty());
    BOOST_TEST(p.to_ask(true, false) == "last");
    BOOST_TEST(p.to_ask(true, true) == "behind");
    BOOST_TEST(!p.owes_an_answer());
}

BOOST_AUTO_TEST_CASE(an_answer_says_whether_it_stands)
{
    list_place p;
    p.sent();
    BOOST_TEST(p.owes_an_answer());  // if it is lost, the client may stand there
    BOOST_TEST(p.to_ask(true, false) == "check");
    p.answered(true);
    BOOST_TEST(p.is_standing());
    BOOST_TEST(p.to_ask(false, false) == "check");
    p.sent();
    p.answered(false);
    BOOST_TEST(!p.owes_an_answer());
}

BOOST_AUTO_TEST_CASE(the_first_is_first_while_it_stands)
{
    list_place p;
    p.sent();
    p.answered(true, true);
    BOOST_TEST(p.is_first());
    p.interrupted();
    BOOST_TEST(!p.is_first());
    p.sent();
    p.answered(true, false);
    BOOST_TEST(!p.is_first());
    p.sent();
    p.answered(true, true);
    p.told();
    BOOST_TEST(!p.is_first());
}

BOOST_AUTO_TEST_CASE(a_told_client_asks_for_the_front)
{
    list_place p;
    p.sent();
    p.answered(true);
    p.told();
    BOOST_TEST(!p.may_stand());
    BOOST_TEST(p.owes_an_answer());
    BOOST_TEST(p.to_ask(true, false) == "first");
    p.sent();
    p.granted();
    BOOST_TEST(!p.owes_an_answer());
}

BOOST_AUTO_TEST_CASE(a_message_before_the_answer_leaves_it_open_where_the_client_stands)
{
    for (bool const stands : {false, true}) {
        list_place p;
        p.sent();
        p.told();
        p.answered(stands);
        BOOST_TEST(!p.is_standing());
        BOOST_TEST(p.to_ask(true, false) == "check");
        p.sent();
        p.answered(true);
        BOOST_TEST(p.is_standing());
    }
}

// A release has taken the client out, a script puts it there again, and only then the message
// comes.
BOOST_AUTO_TEST_CASE(a_late_message_leaves_it_open_where_the_client_stands)
{
    list_place p;
    p.sent();
    p.answered(true, false, true);
    p.sent();
    p.answered(true, false, true);  // it stood there no more
    p.told();
    BOOST_TEST(p.to_ask(true, false) == "check");
    p.sent();
    p.answered(true, false, false);  // it stands there still, so no message is to come
    p.told();
    BOOST_TEST(p.to_ask(true, false) == "first");
}

BOOST_AUTO_TEST_CASE(a_message_may_be_later_than_the_wait)
{
    list_place granted, left;
    for (list_place* const p : {&granted, &left}) {
        p->sent();
        p->answered(true, false, true);
    }
    granted.sent();  // it looks for its entry: a release may have taken that out
    granted.granted();
    left.gone();
    for (list_place* const p : {&granted, &left}) {
        p->sent();
        p->answered(true, false, true);
        p->told();
        BOOST_TEST(p->to_ask(true, false) == "check");
    }
}

BOOST_AUTO_TEST_CASE(after_an_interruption_the_client_does_not_know_where_it_stands)
{
    list_place absent, standing;
    absent.interrupted();
    BOOST_TEST(!absent.owes_an_answer());
    standing.sent();
    standing.answered(true);
    standing.interrupted();
    BOOST_TEST(!standing.is_standing());
    BOOST_TEST(standing.to_ask(true, false) == "check");
    standing.gone();
    BOOST_TEST(standing.to_ask(true, false) == "last");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
