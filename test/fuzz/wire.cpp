// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "fuzz/fuzz.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

namespace colock::fuzz {

using decide::reply;

read_bytes read(std::string_view bytes, std::size_t piece, resp::limits most)
{
    read_bytes got;
    resp::parser from{most};
    while (!bytes.empty() && !got.is_broken) {
        auto const room = from.prepare();
        auto const size = std::min({room.size(), bytes.size(), piece});
        std::memcpy(room.data(), bytes.data(), size);
        from.commit(size);
        bytes.remove_prefix(size);
        auto found = from.next();
        for (; found == resp::parser::outcome::message; found = from.next())
            got.replies.push_back(resp::to_reply(from.last()));
        got.is_broken = found == resp::parser::outcome::broken;
        got.has_partial = !got.is_broken && from.has_partial();
    }
    return got;
}

std::vector<reply> replies_in(std::string_view bytes)
{
    return read(bytes, std::numeric_limits<std::size_t>::max()).replies;
}

std::string written(reply const& r)
{
    switch (r.what) {
    case reply::kind::nil: return "_\r\n";
    case reply::kind::integer: return ":" + std::to_string(r.number) + "\r\n";
    case reply::kind::text: return "$" + std::to_string(r.text.size()) + "\r\n" + r.text + "\r\n";
    case reply::kind::error: return "!" + std::to_string(r.text.size()) + "\r\n" + r.text + "\r\n";
    case reply::kind::list: break;
    }
    auto bytes = "*" + std::to_string(r.items.size()) + "\r\n";
    for (auto const& each : r.items)
        bytes += written(each);
    return bytes;
}

bool is_same(reply const& a, reply const& b) noexcept
{
    return a.what == b.what && a.number == b.number && a.text == b.text &&
        std::ranges::equal(a.items, b.items, [](auto& x, auto& y) { return is_same(x, y); });
}

bool is_same(read_bytes const& a, read_bytes const& b) noexcept
{
    return a.is_broken == b.is_broken && a.has_partial == b.has_partial &&
        std::ranges::equal(a.replies, b.replies, [](auto& x, auto& y) { return is_same(x, y); });
}

}  // namespace colock::fuzz
