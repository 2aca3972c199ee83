// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What tests draw is the same on every machine: a kept seed repeats what it has shown.
#include "support/identity.hpp"
#include "unit/harness.hpp"

#include <set>

namespace colock::test {

BOOST_AUTO_TEST_SUITE(chance)

BOOST_AUTO_TEST_CASE(a_number_has_one_identity)
{
    auto const made = detail::core::identity::of(7);
    BOOST_TEST(made.uuid == "cf1e20de-4bc9-964d-a4ff-d494001255aa");
    BOOST_TEST(made.seed == 9'224'575'002'857'886'219U);
}

BOOST_AUTO_TEST_CASE(a_name_has_one_seed)
{
    BOOST_TEST(seed_of_name("suite/case") == 140'796U);
    BOOST_TEST(seed_of_test() == given_seed(seed_of_name("chance/a_name_has_one_seed")));
}

BOOST_AUTO_TEST_CASE(a_client_of_a_test_is_the_same_each_time)
{
    harness first, second;
    auto const at = [](harness const& h) -> auto& {
        return *detail::client_access::inside(h.client);
    };
    auto const seed = seed_of_test();
    auto const drawn = detail::core::identity::of(seed);
    BOOST_TEST(at(first).uuid() == drawn.uuid);
    BOOST_TEST(at(second).uuid() == detail::core::identity::of(seed + 10'007).uuid);
    std::mt19937_64 engine{drawn.seed};
    BOOST_TEST(
        at(first).jitter() == static_cast<double>(engine() / 2'048) / 9'007'199'254'740'992.0
    );
}

BOOST_AUTO_TEST_CASE(those_who_draw_in_a_test_differ)
{
    std::set<std::uint32_t> seen;
    for (int i = 0; i != 10; ++i)
        seen.insert(random_numbers{}.seed());
    BOOST_TEST(seen.size() == 10U);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
