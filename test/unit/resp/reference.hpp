// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Boost.Redis's parser, to compare ours with. Only for a translation unit that includes nothing
// else of Boost.Redis.
#pragma once

// Its definitions must not meet those that the library or another test may have.
#define redis redis_as_reference
#include <boost/redis/impl/error.ipp>
#include <boost/redis/resp3/impl/parser.ipp>
#include <boost/redis/resp3/parser.hpp>
#undef redis

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace colock::test {

/// Reads message by message, each in the form that `shown` gives.
class reference {
public:
    using error = boost::redis_as_reference::error;
    using node = boost::redis_as_reference::resp3::parser::node_type;
    using type = boost::redis_as_reference::resp3::type;
    enum class outcome { message, more, refused, not_comparable };

    explicit reference(std::string_view bytes) : rest_{bytes} {}

    outcome next()
    {
        boost::redis_as_reference::resp3::parser parser;
        std::vector<node> nodes;
        while (!parser.done()) {
            header_ = rest_.substr(parser.get_consumed());
            if (header_.empty())
                return outcome::more;
            if (is_fatal(header_))
                return outcome::not_comparable;
            boost::system::error_code ec;
            auto const got = parser.consume(rest_, ec);
            if (ec) {
                why_ = ec;
                return outcome::refused;
            }
            if (!got)
                return outcome::more;
            // An attribute is a value there, and the double of a length may wrap.
            if (got->data_type == type::attribute || got->aggregate_size > rest_.size())
                return outcome::not_comparable;
            nodes.push_back(*got);
        }
        rest_.remove_prefix(parser.get_consumed());
        auto at = nodes.cbegin();
        message_ = nodes.front().data_type == type::push ? ">" : "";
        message_ += shown(at);
        return outcome::message;
    }

    std::string const& message() const noexcept { return message_; }

    /// What it refuses, and we take: more depth, RESP2's nulls, a number without digits.
    bool is_stricter() const noexcept
    {
        return why_ == error::exceeeds_max_nested_depth || why_ == error::empty_field ||
            (why_ == error::not_a_number &&
             (header_.starts_with("$-1\r\n") || header_.starts_with("*-1\r\n")));
    }

private:
    /// Headers that its parser does not bear: test/fuzz/README.md names them.
    static bool is_fatal(std::string_view header) noexcept
    {
        if (header.starts_with(';'))
            return true;
        auto const end = header.find("\r\n");
        if (header.find_first_of("$!=") != 0 || end == header.npos)
            return false;
        auto const size = header.substr(1, end - 1);
        std::size_t n = 0;
        auto const read = std::from_chars(size.data(), size.data() + size.size(), n);
        return size.empty() || size.front() == '?' ||
            (read.ec == std::errc{} && n > std::numeric_limits<std::size_t>::max() / 2);
    }

    static std::string shown(std::vector<node>::const_iterator& at)
    {
        auto const& n = *at++;
        auto const text = std::string{n.value};
        switch (n.data_type) {
        case type::null: return "nil";
        case type::number: return is_integer(text) ? text : "'" + text + "'";
        case type::boolean: return text.starts_with('t') ? "1" : "0";
        case type::simple_error:
        case type::blob_error: return "!" + text;
        case type::verbatim_string:
            return "'" + (text.size() > 3 && text[3] == ':' ? text.substr(4) : text) + "'";
        case type::array:
        case type::set:
        case type::push:
        case type::map: break;
        default: return "'" + text + "'";
        }
        std::string all = "[";
        auto const size = n.aggregate_size * (n.data_type == type::map ? 2 : 1);
        for (std::size_t i = 0; i != size; ++i)
            all += (i == 0 ? "" : " ") + shown(at);
        return all + "]";
    }

    static bool is_integer(std::string const& digits)
    {
        std::int64_t n = 0;
        auto const end = digits.data() + digits.size();
        return std::from_chars(digits.data(), end, n).ec == std::errc{} &&
            digits == std::to_string(n);
    }

    std::string_view rest_;
    std::string_view header_;
    std::string message_;
    boost::system::error_code why_;
};

}  // namespace colock::test
