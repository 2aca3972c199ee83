// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Calls into the library, without a server.
#include <colock/colock.hpp>

#include <cstdlib>

int main()
{
    auto const read = colock::config::from_url("redis://localhost:6380");
    return read.addresses.at(0).port == 6380 ? EXIT_SUCCESS : EXIT_FAILURE;
}
