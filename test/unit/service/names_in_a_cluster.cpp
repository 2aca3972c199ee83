// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "unit/harness.hpp"
#include <colock/colock.hpp>

namespace colock::test {

namespace {

struct clustered : harness {
    static config settings()
    {
        auto made = short_leases();
        made.topology = topology::cluster;
        return made;
    }
    clustered() : harness{settings()} {}

    /// What the operation has come to; nothing may be sent before that.
    template <class Value = void, class Start>
    error_code of(Start const& start)
    {
        auto const before = server->written().size();
        error_code ended;
        start([&](error_code ec, auto&&...) { ended = ec; });
        time.settle();
        BOOST_TEST(server->written().size() == before);
        return ended;
    }
};

BOOST_FIXTURE_TEST_SUITE(service_names_in_a_cluster, clustered)

BOOST_AUTO_TEST_CASE(braces_that_make_no_hash_tag_are_refused_before_anything_is_sent)
{
    for (std::string const name : {"a{b", "x{}", "a}b"}) {
        BOOST_TEST_CONTEXT(name)
        {
            auto const refused = [&](auto const& start) {
                BOOST_TEST((of(start) == error::no_hash_tag));
            };
            read_write_lock const both{client, name};
            semaphore const permits{client, name};
            permit_semaphore const leased{client, name};
            countdown_latch const latch{client, name};
            refused([&](auto done) { lock{client, name}.acquire(done); });
            refused([&](auto done) { spin_lock{client, name}.try_acquire(done); });
            refused([&](auto done) { fair_lock{client, name}.try_acquire_for(1s, done); });
            refused([&](auto done) { fenced_lock{client, name}.acquire(done); });
            refused([&](auto done) { both.read().acquire(done); });
            refused([&](auto done) { both.write().is_locked(done); });
            refused([&](auto done) { lock{client, name}.force_release(done); });
            refused([&](auto done) { permits.acquire(1, done); });
            refused([&](auto done) { permits.release(1, done); });
            refused([&](auto done) { permits.available(done); });
            refused([&](auto done) { leased.acquire(done); });
            refused([&](auto done) { leased.available(done); });
            refused([&](auto done) { latch.try_set_count(1, done); });
            refused([&](auto done) { latch.wait(done); });
            multi_lock const group{lock{client, "good"}, lock{client, name}};
            refused([&](auto done) { group.acquire(done); });
        }
    }
}

BOOST_AUTO_TEST_CASE(braces_that_make_one_are_taken)
{
    server->expect(scripts::acquire).reply(granted(1));
    auto p = lock{client, "{orders}:1"}.acquire(settled());
    BOOST_TEST(p.succeeded());
}

BOOST_AUTO_TEST_SUITE_END()

// A single server has no slots, and Redisson takes such names there.
BOOST_FIXTURE_TEST_SUITE(service_names_at_one_server, harness)

BOOST_AUTO_TEST_CASE(braces_of_all_sorts_are_taken)
{
    server->expect(scripts::acquire).reply(granted(1));
    auto p = lock{client, "a{b"}.acquire(settled());
    BOOST_TEST(p.succeeded());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
