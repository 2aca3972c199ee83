// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "resp/pipeline.hpp"
#include "unit/resp/parsing.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock::test {

using namespace std::chrono_literals;
using verdict = resp::pipeline::verdict;

/// Writes down what comes, and does what a test wants to be done then.
struct noting_handler final : resp::reply_handler {
    std::vector<std::string> got;
    std::function<void()> then;

    void on_reply(resp::message const& m) override
    {
        got.push_back(shown(m));
        if (then)
            then();
    }
    void on_lost(error_code why) override
    {
        got.push_back("lost: " + why.message());
        if (then)
            then();
    }
    /// Of a subscription: the push that names its channel.
    bool is_answered_by(resp::message const& m) override
    {
        return m.nodes().size() > 2 && m.nodes()[1].text == "subscribe" &&
            m.nodes()[2].text == channel;
    }
    std::string channel = "c";
};

struct noting_pushes final : resp::push_handler {
    std::vector<std::string> got;
    std::function<void()> then;

    void on_push(resp::message const& m) override
    {
        got.push_back(shown(m));
        if (then)
            then();
    }
};

/// A connection's two ends, in a time of their own.
struct conversation {
    explicit conversation(resp::time_limits how_long = {}, resp::limits most = {})
        : line{how_long, most, &pushes}
    {
        line.begin(now);
    }

    /// Writes a command and expects its reply.
    template <class... Words>
    void ask(resp::reply_handler* who, Words const&... words)
    {
        line.out().push(words...);
        line.expect(who, now);
    }
    void subscribe(resp::reply_handler& who)
    {
        line.out().push("SUBSCRIBE", "c");
        line.expect(&who, now, resp::answered_by::push);
    }
    /// What the server gets.
    std::string sent()
    {
        std::string bytes;
        line.take_output(bytes);
        auto const got = parse(bytes).messages;
        std::string all;
        for (auto const& each : got)
            all += each;
        return all;
    }
    error_code receive(std::string_view bytes)
    {
        error_code ec;
        while (!bytes.empty() && !ec) {
            auto const room = line.prepare();
            auto const size = std::min(room.size(), bytes.size());
            std::memcpy(room.data(), bytes.data(), size);
            bytes.remove_prefix(size);
            ec = line.received(size, now);
        }
        return ec;
    }
    verdict look() { return line.look(now); }
    /// Looks each time that it is due, until then.
    std::vector<std::pair<clock::duration, verdict>> look_until(clock::duration end)
    {
        std::vector<std::pair<clock::duration, verdict>> seen;
        while (line.next_look() <= time_point{end}) {
            now = std::max(now, line.next_look());
            seen.emplace_back(now - time_point{}, look());
            if (seen.back().second == verdict::silent || seen.size() > 100)
                break;
        }
        return seen;
    }

    time_point now{};
    noting_pushes pushes;
    resp::pipeline line;
};

}  // namespace colock::test
