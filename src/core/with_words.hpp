#pragma once

#include "base/clock.hpp"
#include "base/timer.hpp"
#include <colock/diagnostics.hpp>

#include <boost/asio/bind_executor.hpp>

#include <type_traits>
#include <utility>

namespace colock {

/// A handler for a call of the library by itself: it runs on the strand, and takes a `failure`,
/// which has the words of the server.
template <class Handler>
auto with_words(strand_type const& strand, Handler&& handler)
{
    auto bound = asio::bind_executor(strand, std::forward<Handler>(handler));
    return detail::failure_handler<detail::as_failure, decltype(bound)>{{}, std::move(bound)};
}

}  // namespace colock
