// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "support/places.hpp"

#include <cstdlib>
#include <filesystem>

namespace colock::test {

std::string server_program(server_kind kind)
{
    bool const is_redis = kind == server_kind::redis;
    auto const* const given =
        std::getenv(is_redis ? "COLOCK_REDIS_SERVER" : "COLOCK_VALKEY_SERVER");
    return given ? given : is_redis ? COLOCK_REDIS_SERVER : COLOCK_VALKEY_SERVER;
}

std::string in_source_tree(std::string_view path)
{
    return std::string{COLOCK_SOURCE_TREE "/"}.append(path);
}

std::string beside_this_program(std::string_view name)
{
    return std::filesystem::read_symlink("/proc/self/exe").replace_filename(name);
}

}  // namespace colock::test
