#pragma once

#include <colock/error.hpp>

namespace colock {

/// The error without the place in Asio's source where it arose, which `what()` would print.
inline error_code without_place(error_code ec) noexcept
{
    return ec.has_location() ? error_code{ec.value(), ec.category()} : ec;
}

}  // namespace colock
