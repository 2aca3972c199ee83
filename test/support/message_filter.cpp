// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "support/message_filter.hpp"

#include <cstdlib>

namespace colock::test {

namespace {

constexpr auto unfinished = std::string_view::npos;

/// Where the value that begins at `at` ends.
std::size_t end_of_value(std::string_view text, std::size_t at)
{
    auto const line = text.find("\r\n", at);
    if (line == text.npos)
        return unfinished;
    auto const rest = line + 2;
    auto const count = std::strtoll(text.data() + at + 1, nullptr, 10);
    switch (text[at]) {
    case '$':
    case '=':
    case '!': {
        auto const end = rest + (count < 0 ? 0 : static_cast<std::size_t>(count) + 2);
        return end > text.size() ? unfinished : end;
    }
    case '*':
    case '~':
    case '>':
    case '%': {
        auto end = rest;
        for (auto i = text[at] == '%' ? 2 * count : count; i > 0 && end != unfinished; --i)
            end = end < text.size() ? end_of_value(text, end) : unfinished;
        return end;
    }
    default: return rest;
    }
}

bool is_message(std::string_view value)
{
    return value.starts_with('>') &&
        (value.find("\r\nmessage\r\n") != value.npos || value.find("\r\nsmessage\r\n") != value.npos
        );
}

}  // namespace

std::string message_filter::pass(std::string_view data, bool drops)
{
    waiting_ += data;
    std::string passed;
    std::size_t at = 0;
    while (at < waiting_.size()) {
        auto const end = end_of_value(waiting_, at);
        if (end == unfinished)
            break;
        auto const value = std::string_view{waiting_}.substr(at, end - at);
        if (drops && is_message(value))
            ++dropped_;
        else
            passed += value;
        at = end;
    }
    waiting_.erase(0, at);
    return passed;
}

}  // namespace colock::test
