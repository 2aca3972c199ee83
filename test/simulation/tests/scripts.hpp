// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "colock_scripts.hpp"
#include "simulated_server/server.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock::simulation {

/// A server for one script after the other, and what it has published.
struct bench_of_scripts {
    using texts = std::initializer_list<std::string_view>;
    using reply = decide::reply;
    static constexpr std::int64_t ms = 1'000;
    static constexpr std::int64_t begin = 1'795'300'000'000'000;

    std::int64_t now = begin;
    server redis{[this] { return now; }};
    std::string told;  ///< channel and payload of each message
    std::int64_t hearing = 1;

    bench_of_scripts()
    {
        redis.publish = [this](audience, std::string_view channel, std::string_view payload) {
            told.append(channel).append("=").append(payload).append(" ");
            return hearing;
        };
    }
    void pass(std::int64_t milliseconds) { now += milliseconds * ms; }
    std::string heard() { return std::exchange(told, {}); }

    /// The answer to its one key.
    reply run(scripts::script const& what, texts keys, texts arguments)
    {
        auto got =
            redis.run(what.text, {keys.begin(), keys.end()}, {arguments.begin(), arguments.end()});
        if (got.what == reply::kind::integer && what.name.ends_with("renew"))
            return got;  // of all locks of the call
        BOOST_TEST_REQUIRE((got.what == reply::kind::list), got.text);
        BOOST_TEST_REQUIRE(got.items.size() == 1U);
        return std::move(got.items.front());
    }
    reply ask(texts words) { return redis.command({words.begin(), words.end()}); }
    std::int64_t number(texts words) { return ask(words).number; }
    std::int64_t pttl(std::string_view key) { return number({"PTTL", key}); }
    bool exists(std::string_view key) { return number({"EXISTS", key}) == 1; }
    std::string text(texts words) { return ask(words).text; }

    static bool is(reply const& got, std::int64_t wanted)
    {
        return got.what == reply::kind::integer && got.number == wanted;
    }
    /// Somebody else has it, for so long; if the subscribers were counted, there are so many. The
    /// script has put nobody into the wait list.
    static bool is_refused(reply const& got, std::int64_t pttl, std::int64_t subscribers = 0)
    {
        return got.what == reply::kind::list && is(got.items.at(0), pttl) &&
            (got.items.size() == 1 || is(got.items[1], subscribers)) &&
            (got.items.size() < 3 ||
             (got.items.size() == 3 && (is(got.items[2], 0) || is(got.items[2], 2))));
    }
    static bool is_gone(reply const& got) { return got.what == reply::kind::nil; }
};

}  // namespace colock::simulation
