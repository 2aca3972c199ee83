// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What a user of the installed package writes first.
#include <colock/colock.hpp>

#include <cstdio>

int main()
{
    colock::config config{};
    auto const parsed = colock::config::parse("redis://localhost");
    if (!parsed) {
        std::fprintf(stderr, "%s\n", parsed.error().message().c_str());
        return 1;
    }
    config = *parsed;
    std::printf("%zu\n", config.addresses.size());
    return config.addresses.size() == 1 ? 0 : 1;
}
