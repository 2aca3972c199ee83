// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "decide/client_report.hpp"
#include "decide/held_by.hpp"
#include "decide/permit_id.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

namespace colock::decide {

namespace {

using namespace std::chrono_literals;

constexpr auto uuid = "01234567-89ab-8def-0123-456789abcdef";

BOOST_AUTO_TEST_SUITE(client_reports)

BOOST_AUTO_TEST_CASE(what_is_written_is_read)
{
    client_report const told{
        uuid,
        "host:1",
        {{false, "lock", "a:1:{b}\n", "f:1", 7, 1500ms}, {true, "read", "", "", 0, 0ms}},
        false};
    BOOST_TEST((read_client_report(write_client_report(told)) == told));
    BOOST_TEST((read_client_report(write_client_report({})) == client_report{}));
}

BOOST_AUTO_TEST_CASE(no_malformed_text_is_read)
{
    client_report const told{uuid, "host:1", {{true, "lock", "a", "", 7, 1500ms}}, true};
    auto const text = write_client_report(told);
    // Without its entry it is a report as well.
    int readable = 0;
    for (std::size_t i = 0; i != text.size(); ++i)
        readable += read_client_report(text.substr(0, i)) ? 1 : 0;
    BOOST_TEST(readable == 1);
    for (auto const* bad :
         {"", "1", "1:2", "1:1", "99999999999999999999:1", "-1:1", ":", "1:11:a1:b1:11:c"})
        BOOST_TEST(!read_client_report(bad));
}

BOOST_AUTO_TEST_CASE(a_permit_names_the_report_of_its_client)
{
    auto const id = hex_of(permit_id(uuid, 0x1234'5678'9abc'def0U));
    BOOST_TEST(client_report_key(uuid, "p:") == "p:colock_client:0123456789ab8def");
    BOOST_TEST(permit_report_key(id, "p:") == client_report_key(uuid, "p:"));
}

BOOST_AUTO_TEST_CASE(labels)
{
    BOOST_TEST((is_label("") && is_label("host:1") && is_label("Zürich 7")));
    BOOST_TEST((is_label(std::string(longest_label, 'x'))));
    for (auto const& bad :
         {std::string(longest_label + 1, 'x'),
          std::string{"a\nb"},
          std::string{"\x1b[1m"},
          std::string{"\xff"}})
        BOOST_TEST(!is_label(bad));
}

// A server gives the permits and their ends by pairs, and not more than were asked for.
BOOST_AUTO_TEST_CASE(permits_beyond_those_that_are_listed_are_told_of)
{
    for (int const listed : {3, 1'000, 1'001}) {
        std::vector<decide::reply> permits;
        for (int n = 0; n != listed; ++n)
            permits.push_back(decide::reply::of(std::vector{
                decide::reply::of(std::to_string(1'000'000'000'000'000 + n)),
                decide::reply::of("99999999999999")}));
        std::vector<decide::reply> answers(decide::questions_about("s").size());
        answers.front() = decide::reply::error("WRONGTYPE no hash");
        answers[7] = decide::reply::of("5");
        answers[8] = decide::reply::of(permits);
        answers[9] = decide::reply::of(std::vector{decide::reply::of("1"), decide::reply::of("0")});
        lock_info found;
        BOOST_TEST(!decide::read_lock_info(answers, found));
        BOOST_TEST(found.holders.size() == static_cast<std::size_t>(listed));
        BOOST_TEST(found.is_whole == (listed <= 1'000));
        // A user that may not ask is told so, and no holders are made up.
        for (std::size_t const refused : {7, 9}) {
            auto less = answers;
            less[refused] = decide::reply::error("NOPERM this user has no permissions");
            lock_info nothing;
            BOOST_TEST((decide::read_lock_info(less, nothing) == error::server_refused));
            BOOST_TEST(nothing.holders.empty());
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::decide
