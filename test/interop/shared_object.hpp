// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "interop/exclusive.hpp"

#include <cstdint>
#include <string>
#include <utility>

namespace colock::test {

/// Both sides of one object.
template <class Object>
struct shared_object {
    shared_object(java_lab& at, std::string java_kind)
        : kind{std::move(java_kind)}
        , name{unique_name(kind)}
        , server{at.server()}
        , java{shared_java()}
        , c{at.connect(brief(at.settings()))}
        , mine{c.client, name}
    {}

    template <class... Arguments>
    auto ask(std::string command, Arguments... arguments)
    {
        return java.ask("t1", std::move(command), kind, name, arguments...);
    }

    template <class... Arguments>
    auto begin(std::string const& command, Arguments const&... arguments)
    {
        return java.begin("t2", command, kind, name, arguments...);
    }

    std::string channel() const { return "redisson_sc:{" + name + "}"; }

    asio::awaitable<void> subscribed(std::string of, std::int64_t count)
    {
        BOOST_TEST(co_await eventually([&] { return subscribers(server, of) == count; }));
    }

    std::string kind, name;
    redis_server& server;
    java_peer& java;
    running_client& c;
    Object mine;
};

inline constexpr std::int64_t one = 1, two = 2, three = 3;

}  // namespace colock::test
