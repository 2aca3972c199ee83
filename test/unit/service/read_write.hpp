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
        pending_hold p;
        of.acquire(options, p.token());
        time.settle();
        return p;
    }
    template <class Side>
    pending_try try_acquire(Side const& of, acquire_options options = {})
    {
        pending_try p;
        of.try_acquire(options, p.token());
        time.settle();
        return p;
    }
    template <class Side>
    std::int64_t count(Side const& of, owner const& who)
    {
        pending<std::int64_t> p;
        of.hold_count(who, p.token());
        time.settle();
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
    void let_go(hold& h, scripts::script const& by)
    {
        server->expect(by).reply(&by == &scripts::read_extend ? done() : released());
        BOOST_TEST(release(h).succeeded());
    }
    void publish(std::string payload)
    {
        server->publish("redisson_rwlock:{k}", std::move(payload));
        time.settle();
    }
    bool is_clean()
    {
        auto const now = client.stats();
        return now.holds == 0 && now.waiters == 0 && now.keys == 0 && now.owed_releases == 0 &&
            server->all_came();
    }

    std::optional<read_write_lock> sides;
};

inline std::string number_of(std::string const& field)
{
    auto const text = field.substr(field.find(':') + 1);
    return text.substr(0, text.find(':'));
}

}  // namespace colock::test
