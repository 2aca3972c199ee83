// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <boost/version.hpp>

// Boost's types are part of the library's binary interface. A program whose Boost is another than
// the one that the library was built with does not link: "undefined reference to
// `colock_abi_boost_1_93'" names the program's.
namespace colock::detail {

extern char const abi_boost __asm__("colock_abi_boost_" BOOST_LIB_VERSION);

[[gnu::used]] inline char const* const abi_boost_used = &abi_boost;

}  // namespace colock::detail
