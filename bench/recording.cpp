#include "recording.hpp"
#include "server_info.hpp"
#include "session.hpp"

#include <algorithm>
#include <stdexcept>

namespace bench {

namespace {

char unescape_letter(char letter)
{
    switch (letter) {
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    case 'a': return '\a';
    case 'b': return '\b';
    default: return letter;
    }
}

/// Reads a quoted word and drops it from `text`, which begins behind the opening quote.
std::string take_word(std::string_view& text)
{
    std::string word;
    while (!text.empty() && text.front() != '"') {
        if (text.front() != '\\' || text.size() < 2) {
            word += text.front();
            text.remove_prefix(1);
        } else if (text[1] == 'x' && text.size() >= 4) {
            word += static_cast<char>(std::stoi(std::string{text.substr(2, 2)}, nullptr, 16));
            text.remove_prefix(4);
        } else {
            word += unescape_letter(text[1]);
            text.remove_prefix(2);
        }
    }
    text.remove_prefix(std::min<std::size_t>(1, text.size()));
    return word;
}

std::string key_of(plan const& asked, int worker)
{
    return asked.key + ":" + std::to_string(worker);
}

/// One after the other, so that each step has a call of its own.
asio::awaitable<void> take_each_once(colock::client const* redis, plan const* asked)
{
    for (int i = 0; i != asked->workers; ++i) {
        colock::lock const lock{*redis, key_of(*asked, i)};
        auto held = co_await lock.acquire();
        co_await held.release();
    }
}

}  // namespace

std::string encode(std::vector<std::string> const& words)
{
    std::string text = "*" + std::to_string(words.size()) + "\r\n";
    for (auto const& word : words)
        text.append("$" + std::to_string(word.size()) + "\r\n").append(word).append("\r\n");
    return text;
}

std::vector<std::string> words_of_monitor_line(std::string_view line)
{
    std::vector<std::string> words;
    auto const source_end = line.find("] ");
    if (source_end == line.npos || line.substr(0, source_end).ends_with(" lua"))
        return words;
    line.remove_prefix(source_end + 2);
    for (auto quote = line.find('"'); quote != line.npos; quote = line.find('"')) {
        line.remove_prefix(quote + 1);
        words.push_back(take_word(line));
    }
    return words;
}

std::vector<script_calls> record_pairs(plan const& asked)
{
    std::vector<script_calls> found(static_cast<std::size_t>(asked.workers));
    server_info server{asked};
    // The server may have to learn the scripts first. That stays out of the recording.
    with_client(asked.redis, [&](colock::client& redis) -> asio::awaitable<void> {
        co_await take_each_once(&redis, &asked);
        server.begin_monitor();
        co_await take_each_once(&redis, &asked);
    });
    for (int i = 0; i != asked.workers; ++i) {
        auto& calls = found[static_cast<std::size_t>(i)];
        while (calls.size() != 2) {
            auto const words = words_of_monitor_line(server.next_monitor_line());
            if (words.size() > 3 && words[0] == "EVALSHA" && words[3] == key_of(asked, i))
                calls.push_back(encode(words));
        }
    }
    return found;
}

}  // namespace bench
