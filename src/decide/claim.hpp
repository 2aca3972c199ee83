#pragma once

#include <colock/claim.hpp>

namespace colock::decide {

/// It has a name, and the field of an ownership as colock writes it.
bool is_possible(claim const&) noexcept;

}  // namespace colock::decide
