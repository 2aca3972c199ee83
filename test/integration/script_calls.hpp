// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "colock_scripts.hpp"
#include "decide/names.hpp"
#include "integration/suites.hpp"

#include <initializer_list>
#include <thread>

namespace colock::test {

/// The field of an ownership of ours, and of a thread of Redisson's.
inline std::string ours(int number)
{
    return "0b7e4b0c-1111-4907-87fd-6c719a6b4586:" + std::to_string(number);
}
inline std::string java(int thread)
{
    return "8743c9c0-0795-4907-87fd-6c719a6b4586:" + std::to_string(thread);
}

inline std::string text(std::int64_t n) { return std::to_string(n); }

/// Texts as one, so that tests may compare them.
template <class Texts = std::vector<std::string>>
std::string line(Texts const& texts)
{
    std::string all;
    for (auto const& t : texts)
        all.append(all.empty() ? "" : " ").append(t);
    return all;
}

/// Calls scripts as a link does, and looks at what they leave.
class script_calls {
public:
    explicit script_calls(server_kind kind)
        : server{shared_server(kind)}
        , own_{server.unix_socket()}
    {
        server.ask("FLUSHALL");
    }
    ~script_calls() { server.ask("FLUSHALL"); }

    /// The parts of the reply; of an error, that alone.
    std::vector<reply> run(
        scripts::script const& what,
        std::vector<std::string> const& keys,
        std::vector<std::string> const& arguments
    )
    {
        std::vector<std::string> words{
            "EVAL", std::string{what.text}, text(std::int64_t(keys.size()))};
        words.insert(words.end(), keys.begin(), keys.end());
        words.insert(words.end(), arguments.begin(), arguments.end());
        auto got = own_.command(words);
        if (got.what == reply::kind::error)
            return {got};
        return std::move(got.items);
    }

    std::int64_t pttl(std::string const& key) { return server.ask("PTTL", key).number; }

    /// The server's clock in ms.
    std::int64_t now()
    {
        auto const time = server.ask("TIME").items;
        return std::stoll(time.at(0).text) * 1'000 + std::stoll(time.at(1).text) / 1'000;
    }

    /// The texts of a reply.
    template <class... Words>
    std::vector<std::string> texts(Words const&... words)
    {
        std::vector<std::string> found;
        for (auto const& item : server.ask(words...).items)
            found.push_back(item.text);
        return found;
    }

    /// All keys that there are.
    std::string keys()
    {
        auto found = texts("KEYS", "*");
        std::ranges::sort(found);
        return line(found);
    }

    /// Runs `what` with as little memory as the server allows, and then with all again.
    template <class What>
    void without_memory(What what)
    {
        server.ask("CONFIG", "SET", "maxmemory", "1");
        what();
        server.ask("CONFIG", "SET", "maxmemory", "0");
    }

    redis_server& server;

private:
    redis_cli own_;
};

/// Hears what is published.
class listener {
public:
    explicit listener(redis_server& server) : server_{server}, cli_{server.unix_socket()}
    {
        cli_("PSUBSCRIBE", "*");
    }

    /// Channel and payload of what came since, in order.
    std::string heard()
    {
        server_.ask("PUBLISH", "end", "");
        std::vector<std::string> all;
        for (;;) {
            auto const message = cli_.read();
            if (message.items.at(2).text == "end")
                return line(all);
            all.push_back(message.items.at(2).text + " " + message.items.at(3).text);
        }
    }

private:
    redis_server& server_;
    redis_cli cli_;
};

inline bool is_granted(reply const& r) { return r.what == reply::kind::integer; }
inline bool is_nil(reply const& r) { return r.what == reply::kind::nil; }

inline bool is_error(reply const& r) { return r.what == reply::kind::error; }

inline bool is_wrong_type(reply const& r)
{
    return r.what == reply::kind::error && r.text.starts_with("WRONGTYPE");
}

/// The number in a refusal; -100 if it is none.
inline std::int64_t refusal(reply const& r)
{
    return r.what == reply::kind::list && r.items.size() == 1 ? r.items[0].number : -100;
}

/// But for what passes between two commands.
inline bool near(std::int64_t value, std::int64_t expected, std::int64_t slack = 1'000)
{
    return value <= expected + slack && value >= expected - slack;
}

}  // namespace colock::test
