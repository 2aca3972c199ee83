// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "support/proxy_traffic.hpp"

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

traffic_rules::passage traffic_rules::request(std::string_view data, passed_traffic& passed)
{
    if (remembering)
        requests_ += data;
    if (data.find("SUBSCRIBE") != data.npos)
        passed.is_push = true;
    if (!request_to_cut.empty() && data.find(request_to_cut) != data.npos) {
        request_to_cut.clear();
        return {{}, true};
    }
    if (!request_to_mangle.empty() && data.find(request_to_mangle) != data.npos) {
        request_to_mangle.clear();
        passed.reply_left = bytes_to_leave;
    }
    return {rewritten(data)};
}

traffic_rules::passage traffic_rules::reply(std::string_view data, passed_traffic& passed)
{
    bool is_last = false;
    if (passed.reply_left) {
        data = data.substr(0, *passed.reply_left);
        *passed.reply_left -= data.size();
        is_last = *passed.reply_left == 0;
    }
    return {passed.is_push ? passed.filter.pass(data, drops_messages) : std::string{data}, is_last};
}

std::string traffic_rules::rewritten(std::string_view data) const
{
    std::string text{data};
    if (text_to_rewrite.empty())
        return text;
    for (auto at = text.find(text_to_rewrite); at != text.npos; at = text.find(text_to_rewrite, at))
        text.replace(at, rewriting.size(), rewriting);
    return text;
}

std::size_t traffic_rules::seen(std::string_view text) const
{
    std::size_t count = 0;
    for (auto at = requests_.find(text); at != std::string::npos;
         at = requests_.find(text, at + text.size()))
        ++count;
    return count;
}

}  // namespace colock::test
