#pragma once

#include <colock/detail/failure.hpp>

namespace colock {

/// The error without the place in Asio's source where it arose, which `what()` would print.
inline detail::failure without_place(detail::failure why) noexcept
{
    if (why.has_location())
        static_cast<error_code&>(why) = {why.value(), why.category()};
    return why;
}

}  // namespace colock
