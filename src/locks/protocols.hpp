#pragma once

#include "holds/protocol.hpp"

#include <span>

namespace colock {

/// The table of all kinds of locks.
std::span<protocol const> lock_protocols() noexcept;

protocol const& protocol_of(lock_kind) noexcept;

}  // namespace colock
