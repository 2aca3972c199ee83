// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include <colock/claim.hpp>

#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <string>

namespace colock::test {

using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(decide_claim)

BOOST_AUTO_TEST_CASE(its_text_is_read_back)
{
    claim const what{
        "fenced", std::string{"a b\n\0c", 6}, "8743c9c0-0795-8a07-9b4f-0123456789ab:17", 42, 29s};
    auto const read = claim::parse(what.to_string());
    BOOST_TEST_REQUIRE(read.has_value());
    BOOST_TEST((*read == what));
}

BOOST_AUTO_TEST_CASE(other_text_is_none)
{
    auto const good =
        claim{"lock", "k", "8743c9c0-0795-8a07-9b4f-0123456789ab:17", 42, 29s}.to_string();
    BOOST_TEST_REQUIRE(claim::parse(good).has_value());
    for (std::size_t i = 0; i + 1 < good.size(); ++i)
        BOOST_TEST(!claim::parse(good.substr(0, i)).has_value(), good.substr(0, i));
    for (auto const* bad :
         {"colock-claim-2 lock 42 29000 8743c9c0-0795-8a07-9b4f-0123456789ab:17 k",
          "colock-claim-1 lock x 29000 8743c9c0-0795-8a07-9b4f-0123456789ab:17 k",
          "colock-claim-1 lock 42 2s 8743c9c0-0795-8a07-9b4f-0123456789ab:17 k",
          "colock-claim-1 lock 42 29000 8743c9c0-0795-8a07-9b4f-0123456789ab:x k",
          "colock-claim-1 lock 42 29000 8743c9c0:17 k"})
        BOOST_TEST(!claim::parse(bad).has_value(), bad);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
