// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A process of a world is killed as the kernel does it: nothing of it is undone, so what it had may
// refer to itself in a circle, and the leak sanitizer can't tell that from a leak of the library's.
// Leaks are looked for in the unit tests.
extern "C" char const* __asan_default_options();
extern "C" char const* __asan_default_options() { return "detect_leaks=0"; }
