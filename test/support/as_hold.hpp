// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/hold.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace colock::test {

/// Whatever is held, as a `hold`: for tests that take each kind.
template <std::derived_from<basic_hold> Held>
hold as_hold(Held held)
{
    using access = detail::hold_access;
    return access::make<hold>(access::take(std::move(held)));
}

/// The token of one part, of whatever is held.
inline std::uint64_t token_of(basic_hold const& held, std::size_t part)
{
    struct reads : basic_hold {
        using basic_hold::token_of;
    };
    return (held.*(&reads::token_of))(part);
}

}  // namespace colock::test
