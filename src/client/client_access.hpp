#pragma once

#include <colock/client.hpp>

#include <utility>

namespace colock {
inline namespace v0_3 {
namespace detail {

/// A client on a core that somebody else has made: a test, or a double for the tests of users.
struct client_access {
    static client make(core_ptr inside) { return client{std::move(inside)}; }
    static core_ptr const& inside(client const& c) { return c.core_; }
};

}  // namespace detail
}  // namespace v0_3
}  // namespace colock
