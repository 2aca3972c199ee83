// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// `permit_semaphore`: ids, leases, renewal, loss.
#include "family/counters.hpp"

#include <set>
#include <string>

namespace colock::test {

BOOST_AUTO_TEST_SUITE(permits)

BOOST_DATA_TEST_CASE(lost_answers_create_and_lose_nothing, each_server(), kind)
{
    std::set<std::string> ids;
    check_that_it_adds_up<permit_semaphore>(
        kind,
        [&](permit_semaphore const& mine, auto const& stay) -> asio::awaitable<void> {
            permit held = co_await mine.acquire();
            BOOST_TEST(ids.insert(held.id()).second);
            co_await stay();
            co_await held.release();
        }
    );
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
