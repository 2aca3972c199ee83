// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "unit/harness.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace colock::test {

/// Somebody else holds the lock: every try is refused until the test says otherwise.
struct contended : harness {
    explicit contended(config settings = short_leases()) : harness{std::move(settings)}
    {
        server->serve = [this](call const& c) -> std::optional<answer> {
            auto const replied = [](decide::reply r) {
                return answer{answer::kind::replied, std::move(r), {}, {}};
            };
            if (c.what == &scripts::acquire)
                return replied(is_free ? granted(++token) : refused(pttl));
            if (c.what == &scripts::look)
                return replied(is_free ? free_list(c) : reply::of(std::vector<reply>{}));
            return replied(c.what == &scripts::release ? released() : done());
        };
    }
    static reply free_list(call const& c)
    {
        std::vector<reply> places;
        for (std::size_t i = 0; i != c.keys.size(); ++i) {
            places.push_back(reply::of(static_cast<std::int64_t>(i + 1)));
            places.push_back(reply::of(std::int64_t{0}));
        }
        return reply::of(std::move(places));
    }
    std::size_t polls() const { return server->count(scripts::look); }
    std::size_t tries() const { return server->count(scripts::acquire); }
    void message() { publish(channel()); }

    bool is_free = false;
    std::int64_t pttl = 30'000;
    std::int64_t token = 0;
};

}  // namespace colock::test
