// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "fuzz/wire.hpp"
#include "redis/connection_loop.hpp"

#include <boost/redis/resp3/parser.hpp>

#include <algorithm>
#include <charconv>
#include <limits>
#include <memory>

namespace colock::fuzz {

namespace redis = boost::redis;
using decide::reply;

namespace {

/// It has to begin where a header does.
bool is_fatal(std::string_view header) noexcept
{
    if (header.starts_with(';'))
        return true;
    if (header.find_first_of("$!=") != 0)
        return false;
    auto const end = header.find("\r\n");
    if (end == header.npos)
        return false;
    auto const size = header.substr(1, end - 1);
    if (size.empty() || size.front() == '?')
        return true;
    std::size_t n = 0;
    auto const read = std::from_chars(size.data(), size.data() + size.size(), n);
    return read.ec == std::errc{} && n > std::numeric_limits<std::size_t>::max() / 2;
}

}  // namespace

bool wire::next(redis::any_adapter& into)
{
    redis::resp3::parser parser;
    error_code ec;
    into.on_init();
    while (!parser.done()) {
        auto const header = rest_.substr(parser.get_consumed());
        is_cut_ = is_fatal(header);
        if (header.empty() || is_cut_) {
            rest_.remove_prefix(is_cut_ ? parser.get_consumed() : 0);
            return false;
        }
        auto const node = parser.consume(rest_, ec);
        has_failed_ = ec.failed();
        if (has_failed_ || !node)
            return false;
        into.on_node(*node, ec);
    }
    into.on_done();
    rest_.remove_prefix(parser.get_consumed());
    return true;
}

std::string_view without_fatal_headers(std::string_view bytes)
{
    wire from{bytes};
    redis::any_adapter nowhere;
    while (from.next(nowhere)) {}
    return from.is_cut() ? bytes.substr(0, bytes.size() - from.rest().size()) : bytes;
}

std::vector<reply> replies_in(std::string_view bytes)
{
    auto got = std::make_shared<std::vector<reply>>();
    auto into = collect_replies(got);
    wire from{bytes};
    std::size_t whole = 0;
    while (from.next(into))
        whole = got->size();
    got->resize(whole);
    return std::move(*got);
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
        std::ranges::equal(a.items, b.items, is_same);
}

}  // namespace colock::fuzz
