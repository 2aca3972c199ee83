// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "decide/reply.hpp"
#include "resp/parser.hpp"

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace colock::fuzz {

/// What must hold for each input. Ends the process, so that libFuzzer keeps the input.
inline void require(bool holds, char const* what)
{
    if (holds)
        return;
    std::fprintf(stderr, "does not hold: %s\n", what);
    std::abort();
}

/// What the parser makes of some bytes.
struct read_bytes {
    std::vector<decide::reply> replies{};  ///< and pushes
    bool is_broken = false;
    bool has_partial = false;
};

/// Reads them in pieces of that size.
read_bytes read(std::string_view bytes, std::size_t piece, resp::limits most = {});

/// The whole messages among the bytes.
std::vector<decide::reply> replies_in(std::string_view bytes);

/// Writes it as a server does.
std::string written(decide::reply const&);

bool is_same(decide::reply const&, decide::reply const&) noexcept;
bool is_same(read_bytes const&, read_bytes const&) noexcept;

}  // namespace colock::fuzz
