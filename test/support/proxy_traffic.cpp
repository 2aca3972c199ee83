// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "support/proxy_traffic.hpp"

namespace colock::test {

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
