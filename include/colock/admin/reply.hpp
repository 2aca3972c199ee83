// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock {
inline namespace v0_3 {
namespace admin {

/// One answer of a server, independent of the wire format.
struct reply {
    enum class kind { nil, integer, text, list, error };

    kind what = kind::nil;
    std::int64_t number = 0;
    std::string text{};
    std::vector<reply> items{};

    static reply of(std::int64_t n) { return {kind::integer, n, {}, {}}; }
    static reply of(std::string_view s) { return {kind::text, 0, std::string{s}, {}}; }
    static reply of(std::vector<reply> l) { return {kind::list, 0, {}, std::move(l)}; }
    static reply error(std::string_view s) { return {kind::error, 0, std::string{s}, {}}; }
};

/// A command, and the key whose server it is for.
struct question {
    std::string about;
    std::vector<std::string> words;
};

}  // namespace admin
}  // namespace v0_3
}  // namespace colock
