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

BOOST_DATA_TEST_CASE(a_limit_sets_them_and_counts_those_that_are_out, each_server(), kind)
{
    counter_lab<permit_semaphore> at{kind};
    at.run([&](permit_semaphore const& mine) -> asio::awaitable<void> {
        permit_semaphore const two{at.client, mine.name(), 2};
        auto one = co_await two.acquire();
        BOOST_TEST(at.stored() == "1");
        at.server().ask("DEL", mine.name());  // the permit that is out stays so
        auto other = co_await two.try_acquire();
        BOOST_TEST(other.has_value());
        BOOST_TEST(is_refused(co_await two.try_acquire()));
        BOOST_TEST(co_await two.permits() == 2);
        at.server().ask("DEL", mine.name(), at.leases());
        auto both = co_await two.acquire_many(2);  // while the old holders have not heard
        BOOST_TEST(both.size() == 2U);
        co_await one.lost();
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
