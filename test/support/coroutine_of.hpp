// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <boost/asio/awaitable.hpp>

#include <utility>

namespace colock::test {

/// The coroutine of a function object, which lives as long. `co_spawn` is compiled anew for each
/// type that it is given, in half a second; with this all tests give it the same one.
template <class F>
boost::asio::awaitable<void> coroutine_of(F f)
{
    co_await f();
}

inline boost::asio::awaitable<void> coroutine_of(boost::asio::awaitable<void> coroutine)
{
    return coroutine;
}

}  // namespace colock::test
