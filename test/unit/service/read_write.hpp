// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "unit/harness.hpp"
#include <colock/read_write_lock.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace colock::test {

/// A client at a scripted server, and both sides of the lock `k`.
struct rw : harness {
    rw() { sides.emplace(client, "k"); }

    read_lock const& reading() const { return sides->read(); }
    write_lock const& writing() const { return sides->write(); }

    template <class Side>
    pending_hold acquire(Side const& of, acquire_options options = {})
    {
        return of.acquire(options, settled());
    }
    template <class Side>
    pending_try try_acquire(Side const& of, acquire_options options = {})
    {
        return of.try_acquire(options, settled());
    }
    template <class Side>
    std::int64_t count(Side const& of, owner const& who)
    {
        auto p = of.hold_count(who, settled());
        BOOST_TEST_REQUIRE(p.succeeded());
        return p.value();
    }
    hold reads(acquire_options options = {})
    {
        server->expect(scripts::read_acquire).reply(granted(0));
        auto p = acquire(reading(), options);
        BOOST_TEST_REQUIRE(p.succeeded());
        return std::move(p.value());
    }
    hold writes(acquire_options options = {}, std::int64_t token = 7)
    {
        server->expect(scripts::write_acquire).reply(granted(token));
        auto p = acquire(writing(), options);
        BOOST_TEST_REQUIRE(p.succeeded());
        return std::move(p.value());
    }
    /// By an owner who has a hold on this side, or on the other, or on both.
    hold reads_again(acquire_options options)
    {
        server->expect(scripts::read_extend).reply(done());
        auto p = acquire(reading(), options);
        BOOST_TEST_REQUIRE(p.succeeded());
        return std::move(p.value());
    }
    hold writes_again(acquire_options options)
    {
        server->expect(scripts::extend).reply(done());
        auto p = acquire(writing(), options);
        BOOST_TEST_REQUIRE(p.succeeded());
        return std::move(p.value());
    }
    /// Refused, and refused once more when it is subscribed.
    pending_hold waits_to_read(std::int64_t lease_of_the_other)
    {
        return waits(reading(), scripts::read_acquire, lease_of_the_other, {});
    }
    pending_hold waits_to_write(std::int64_t lease_of_the_other, acquire_options options = {})
    {
        return waits(writing(), scripts::write_acquire, lease_of_the_other, options);
    }
    void let_go(hold& h, scripts::script const& by)
    {
        server->expect(by).reply(&by == &scripts::read_extend ? done() : released());
        BOOST_TEST(release(h).succeeded());
    }
    /// Has come in, and leaves.
    void let_go(pending_hold const& p, scripts::script const& by)
    {
        BOOST_TEST_REQUIRE(p.succeeded());
        let_go(p.value(), by);
    }
    void publish(std::string payload)
    {
        harness::publish("redisson_rwlock:{k}", std::move(payload));
    }
    bool is_clean()
    {
        auto const now = client.stats();
        return now.holds == 0 && now.waiters == 0 && now.keys == 0 && now.owed_releases == 0 &&
            server->all_came();
    }
    void ends_clean(milliseconds after = 2ms)
    {
        time.advance(after);
        BOOST_TEST(is_clean());
    }

    std::optional<read_write_lock> sides;

private:
    template <class Side>
    pending_hold waits(
        Side const& of, scripts::script const& by, std::int64_t lease, acquire_options options
    )
    {
        for (int i = 0; i != 2; ++i)
            server->expect(by).reply(refused(lease));
        auto p = acquire(of, options);
        time.advance(2ms);
        BOOST_TEST(server->all_came());
        BOOST_TEST(!p.is_done());
        return p;
    }
};

inline answer replied(reply value) { return {answer::kind::replied, std::move(value), {}, {}}; }

inline std::string number_of(std::string const& field)
{
    auto const text = field.substr(field.find(':') + 1);
    return text.substr(0, text.find(':'));
}

}  // namespace colock::test
