// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
// colock bench: the load of bench/ on one's own server.
#include "bench/command.hpp"
#include "commands.hpp"
#include "picture.hpp"
#include "reading.hpp"
#include "session.hpp"
#include "status.hpp"
#include "text.hpp"

#include <boost/json/serialize.hpp>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace cli {

namespace {

/// Shows on a terminal how long the load has run. It uses nothing that a forked process may find
/// locked.
class counting {
public:
    explicit counting(double seconds)
        : thread_{[this, seconds] {
            using namespace std::chrono_literals;
            for (int passed = 0; !over_; ++passed) {
                if (passed != 0 && passed % 10 == 0) {
                    char text[80];
                    int const n = std::snprintf(
                        text, sizeof text, "\r\033[K%d s of about %.0f s", passed / 10, seconds
                    );
                    [[maybe_unused]] auto const told =
                        write(STDERR_FILENO, text, static_cast<std::size_t>(n));
                }
                std::this_thread::sleep_for(100ms);
            }
            [[maybe_unused]] auto const told = write(STDERR_FILENO, "\r\033[K", 4);
        }}
    {}
    ~counting()
    {
        over_ = true;
        thread_.join();
    }

private:
    std::atomic<bool> over_ = false;
    std::thread thread_;
};

void print(boost::json::object const& found)
{
    for (auto const& [name, value] : found) {
        auto const text = boost::json::serialize(value);
        std::printf("  %-24s %s\n", std::string{name}.c_str(), text.c_str());
    }
}

/// That there is a server, and that nobody has the load's lock.
// NOLINTNEXTLINE(*-avoid-reference-coroutine-parameters): the session runs it
asio::awaitable<int> check_server(session& with, std::string key)
{
    co_await with.connect();
    auto const found = co_await read_picture(with, key);
    if (found.what == picture::content::lock)
        throw failure{
            status_no,
            shown(key) + " is locked, perhaps by an interrupted run: 'colock info' says for how " +
                "long, 'colock unlock' ends it"};
    co_return status_ok;
}

/// The processes make it and remove it again, and one that exists is an overlap.
void check_exclusive_file(bench::plan const& plan)
{
    if (plan.workload != "W4" || plan.exclusive_file.empty())
        return;
    auto const* const name = plan.exclusive_file.c_str();
    int const fd = open(name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0) {
        auto const* const advice =
            errno == EEXIST ? "; if an interrupted run has left it, remove it" : "";
        throw failure{
            status_usage,
            "--xfile: " + shown(plan.exclusive_file) + ": " + std::strerror(errno) + advice};
    }
    close(fd);
    unlink(name);
}

}  // namespace

int bench_load(options const& o)
{
    auto const where = settings_of(o);
    auto settings = where;
    settings.timeout = colock::config{}.timeout;
    auto const plan = bench::plan_of(o.load, settings);
    // That the settings are good and that there is a server is found out first: the load waits for
    // one without end.
    {
        auto tried = plan.redis;
        tried.timeout = where.timeout;
        session s{o, std::move(tried)};
        s.run(check_server(s, o.load.asked.key));
    }
    check_exclusive_file(plan);
    auto const seconds = plan.seconds + plan.warmup;
    complain("colock bench: " + bench::describe(o.load) + "; on " + place_of(where));
    std::optional<counting> shown_time;
    if (isatty(STDERR_FILENO) != 0)
        shown_time.emplace(seconds);
    auto const found = bench::measure(plan);
    shown_time.reset();
    if (o.json)
        std::printf("%s\n", boost::json::serialize(found).c_str());
    else
        print(found);
    auto const* const exclusive = found.if_contains("mutex_ok");
    return exclusive && exclusive->is_bool() && !exclusive->get_bool() ? status_no : status_ok;
}

}  // namespace cli
