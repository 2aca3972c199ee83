// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Shows the commands of two owners of a lock, with the server's MONITOR.
//
//     14_monitor [URL]        redis://127.0.0.1:6379 by default
#include "../raw_redis.hpp"
#include "tutorial.hpp"
#include <colock/colock.hpp>

#include <boost/asio/detached.hpp>

#include <map>
#include <memory>
#include <regex>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;

/// Prints MONITOR's lines about the lock, with names for the parts that differ from run to run.
class monitor {
public:
    // [shape
    void print(std::string line)
    {
        bool const heading = line.find("\"ECHO\"") != std::string::npos;
        bool const of_script = line.find("[0 lua]") != std::string::npos;
        bool const counter = of_script && line.find("colock_fence") != std::string::npos;
        bool const opens = line.find("\"SUBSCRIBE\"") != std::string::npos;
        if (!heading && !counter && !opens && line.find("orders") == std::string::npos)
            return;  // about something else
        line = std::regex_replace(line.substr(line.find("] ") + 2), std::regex{"\""}, "");
        line = name(short_text(line), "[0-9a-f]{40}", {"acquire.lua"});
        line = name(line, "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", {"A", "B", "C"});
        line = std::regex_replace(line, std::regex{"[0-9]{15,}"}, "<microseconds>");
        if (line.starts_with("EVAL"))
            line = std::regex_replace(line, std::regex{"[0-9]+$"}, "<call>");
        line = std::regex_replace(line, std::regex{" +"}, " ");  // empty arguments
        if (opens && !line.ends_with("mailbox:B"))
            return;  // later, beside other commands
        if (heading)
            std::printf("-- %s\n", line.substr(5).c_str());
        else
            std::printf("%s%s\n", of_script ? "      " : "  ", line.c_str());
        seen_.push_back(line);
    }
    // shape]

    std::size_t count(std::string const& beginning) const
    {
        std::size_t lines = 0;
        for (auto const& line : seen_)
            lines += line.starts_with(beginning);
        return lines;
    }

private:
    /// Where a script goes as text, by its first word.
    static std::string short_text(std::string line)
    {
        if (!line.starts_with("EVAL -- "))
            return line;
        auto const word = line.substr(8, line.find(' ', 8) - 8);
        auto const file = word == "Takes" ? "acquire.lua"
            : word == "Renews"            ? "renew.lua"
                                          : "release.lua";
        return std::string{"EVAL "} + file + line.substr(line.rfind("\\n") + 2);
    }

    /// The first value of a kind gets the first name, and keeps it.
    std::string name(std::string line, char const* kind, std::vector<std::string> const& names)
    {
        std::smatch found;
        auto& known = known_[kind];
        while (std::regex_search(line, found, std::regex{kind})) {
            if (!known.contains(found.str()))
                known[found.str()] = names.at(known.size());
            line = found.prefix().str() + known[found.str()] + found.suffix().str();
        }
        return line;
    }

    std::map<std::string, std::map<std::string, std::string>> known_;
    std::vector<std::string> seen_;
};

asio::awaitable<void> follow(std::string url, monitor* log)
{
    auto server = co_await examples::raw_redis::connect(url);
    co_await server.command("MONITOR");
    for (;;) {
        auto const line = co_await server.reply();
        log->print(line);
    }
}

/// Until the server has executed so many commands that begin so.
asio::awaitable<void> until(monitor* log, std::string beginning, std::size_t count)
{
    while (log->count(beginning) < count)
        co_await tutorial::pause(2ms);
}

asio::awaitable<void> heading(std::string url, std::string text)
{
    auto server = co_await examples::raw_redis::connect(url);
    co_await server.command("ECHO", text);
}

asio::awaitable<colock::config> settings(std::string url)
{
    auto one = colock::config::from_url(url);
    one.poll_cap = 30s;  // nobody asks twice here because a minute is long
    one.links = 1;
    co_return one;
}

// NOLINTBEGIN(cppcoreguidelines-avoid-reference-coroutine-parameters): a lambda
// [two
asio::awaitable<void> two_owners(std::string url, monitor* log)
{
    auto const executor = co_await asio::this_coro::executor;
    auto const config = co_await settings(url);
    colock::client process_a{executor, config};
    colock::client process_b{executor, config};
    process_a.run(asio::detached);
    process_b.run(asio::detached);
    co_await process_a.ping();  // both are connected
    co_await process_b.ping();
    colock::lock const lock_of_a{process_a, "orders"};
    colock::lock const lock_of_b{process_b, "orders"};

    co_await heading(url, "A takes the lock");
    colock::hold a = co_await lock_of_a.acquire();

    co_await heading(url, "B wants it: is refused, opens its mailbox, asks once more");
    auto const b = std::make_shared<colock::hold>();  // the handler may outlive this coroutine
    lock_of_b.acquire([b](colock::error_code, colock::hold got) { *b = std::move(got); });
    co_await until(log, "EVAL", 3);  // A's and two of B

    co_await tutorial::pause(20ms);  // the counter is behind the clock then
    co_await heading(url, "A releases, B is told and asks again");
    co_await a.release();
    while (!*b)
        co_await tutorial::pause(2ms);

    co_await heading(url, "B releases");
    co_await b->release();

    co_await process_b.close();
    co_await process_a.close();
}
// two]
// NOLINTEND(cppcoreguidelines-avoid-reference-coroutine-parameters)

// [renewal
asio::awaitable<void> watchdog(std::string url, monitor* log)
{
    auto config = co_await settings(url);
    config.lease = 900ms;
    colock::client process{co_await asio::this_coro::executor, config};
    process.run(asio::detached);

    co_await tutorial::pause(20ms);  // as above
    co_await heading(url, "C holds it for longer than a third of its lease");
    colock::hold held = co_await colock::lock{process, "orders"}.acquire();
    co_await until(log, "EVAL renew.lua", 1);
    co_await process.close();  // releases it
}
// renewal]

asio::awaitable<void> lesson(std::string url)
{
    monitor log;
    asio::co_spawn(co_await asio::this_coro::executor, follow(url, &log), asio::detached);
    co_await tutorial::pause(100ms);
    co_await two_owners(url, &log);
    co_await watchdog(url, &log);
    co_await heading(url, "the end");
    co_await until(&log, "ECHO the end", 1);
}

int main(int argc, char** argv) { return tutorial::run(lesson(tutorial::server(argc, argv))); }
