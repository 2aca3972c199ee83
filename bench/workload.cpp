#include "workload.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/connect.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <stdexcept>

namespace bench {

namespace asio = boost::asio;

namespace {

std::uint32_t nanoseconds(steady::duration d)
{
    auto const n = std::chrono::duration_cast<std::chrono::nanoseconds>(d).count();
    return static_cast<std::uint32_t>(std::min<std::int64_t>(n, UINT32_MAX));
}

/// A blocking connection beside the client's, for what the server says of itself.
class server_info {
public:
    explicit server_info(colock::config const& c)
    {
        auto const& where = c.addresses.front();
        if (where.unix_socket.empty()) {
            asio::ip::tcp::socket s{context_};
            asio::connect(
                s, asio::ip::tcp::resolver{context_}.resolve(where.host, std::to_string(where.port))
            );
            socket_ = std::move(s);
        } else {
            asio::local::stream_protocol::socket s{context_};
            s.connect(where.unix_socket);
            socket_ = std::move(s);
        }
        if (!c.password.empty())
            ask("AUTH " + (c.username.empty() ? c.password : c.username + " " + c.password));
    }

    /// The seconds that the server has spent in EVALSHA, scripts and all.
    double script_seconds()
    {
        auto const text = bulk("INFO commandstats");
        return field(text, "cmdstat_evalsha:", "usec=") / 1e6;
    }

    double cpu_seconds()
    {
        auto const text = bulk("INFO cpu");
        return field(text, "", "used_cpu_user:") + field(text, "", "used_cpu_sys:");
    }

private:
    static double field(std::string const& text, char const* line, char const* name)
    {
        auto const at = text.find(line);
        auto const value = at == text.npos ? at : text.find(name, at);
        return value == text.npos ? 0 : std::stod(text.substr(value + std::string{name}.size()));
    }

    std::string ask(std::string const& command)
    {
        asio::write(socket_, asio::buffer(command + "\r\n"));
        std::string head;
        auto const end = asio::read_until(socket_, asio::dynamic_buffer(buffer_), "\r\n");
        head = buffer_.substr(0, end - 2);
        buffer_.erase(0, end);
        if (head.starts_with('-'))
            throw std::runtime_error("server: " + head);
        return head;
    }

    std::string bulk(std::string const& command)
    {
        auto const size = static_cast<std::size_t>(std::stoul(ask(command).substr(1))) + 2;
        if (buffer_.size() < size)
            asio::read(
                socket_,
                asio::dynamic_buffer(buffer_),
                asio::transfer_exactly(size - buffer_.size())
            );
        auto text = buffer_.substr(0, size - 2);
        buffer_.erase(0, size);
        return text;
    }

    asio::io_context context_;
    asio::generic::stream_protocol::socket socket_{context_};
    std::string buffer_;
};

struct window {
    steady::time_point begin;
    steady::time_point end;
};

// All of these run within `run_pairs`, whose locals they refer to.
// NOLINTBEGIN(cppcoreguidelines-avoid-reference-coroutine-parameters)

asio::awaitable<void> ping_once(colock::client& redis, report& into)
{
    auto const start = steady::now();
    co_await redis.ping();
    into.pings.push_back(nanoseconds(steady::now() - start));
}

// A lone worker pings now and then, between its pairs: the round trip to compare with is the one
// under the same conditions. In a burst of its own a ping finds both processors awake and is up to
// a third shorter; `ping_burst_p50_us` says how much here.
asio::awaitable<void> pair_worker(
    colock::client& redis, std::string key, window when, tally& into, report* pings
)
{
    constexpr int pairs_per_ping = 8;
    colock::lock const lock{redis, std::move(key)};
    for (int pairs = 0;; ++pairs) {
        if (pings && pairs % pairs_per_ping == 0) {
            auto const start = steady::now();
            co_await ping_once(redis, *pings);
            into.pinging += steady::now() - start;
        }
        auto const start = steady::now();
        if (start > when.end)
            co_return;
        auto held = co_await lock.acquire();
        co_await held.release();
        auto const end = steady::now();
        ++into.acquired_in_all;
        if (start > when.begin && end < when.end) {
            ++into.acquired;
            into.latencies.push_back(nanoseconds(end - start));
        } else
            into.pinging = {};
    }
}

double quantile(std::vector<std::uint32_t>& sorted, double q)
{
    if (sorted.empty())
        return 0;
    std::ranges::sort(sorted);
    return sorted[static_cast<std::size_t>(q * static_cast<double>(sorted.size() - 1))] / 1e3;
}

asio::awaitable<void> drive(colock::client& redis, plan const& asked, report& out)
{
    auto const executor = co_await asio::this_coro::executor;
    server_info server{asked.redis};
    report burst;
    for (int i = 0; i != 2'000; ++i)
        co_await ping_once(redis, burst);
    out.ping_burst = std::move(burst.pings);
    bool const alone = asked.workers == 1;

    auto const as_duration = [](double s) {
        return std::chrono::duration_cast<steady::duration>(std::chrono::duration<double>{s});
    };
    window when;
    when.begin = steady::now() + as_duration(asked.warmup);
    when.end = when.begin + as_duration(asked.seconds);
    int running = asked.workers;
    asio::steady_timer all_done{executor, steady::time_point::max()};
    for (int i = 0; i != asked.workers; ++i) {
        auto& into = out.workers[static_cast<std::size_t>(i)];
        into.latencies.reserve(1 << 16);
        asio::co_spawn(
            executor,
            pair_worker(
                redis, asked.key + ":" + std::to_string(i), when, into, alone ? &out : nullptr
            ),
            [&](std::exception_ptr failed) {
                if (failed)
                    ++into.errors;
                if (--running == 0)
                    all_done.cancel();
            }
        );
    }
    asio::steady_timer edge{executor, when.begin};
    co_await edge.async_wait(asio::deferred);
    double const scripts = server.script_seconds();
    double const cpu = server.cpu_seconds();
    edge.expires_at(when.end);
    co_await edge.async_wait(asio::deferred);
    out.script_seconds = server.script_seconds() - scripts;
    out.server_cpu_seconds = server.cpu_seconds() - cpu;
    out.window_seconds = std::chrono::duration<double>(steady::now() - when.begin).count();
    boost::system::error_code cancelled;
    if (running != 0)
        co_await all_done.async_wait(asio::redirect_error(asio::deferred, cancelled));
    if (!alone)
        out.pings = out.ping_burst;
}

// NOLINTEND(cppcoreguidelines-avoid-reference-coroutine-parameters)

}  // namespace

report run_pairs(plan const& asked)
{
    report out;
    out.asked = asked;
    out.workers.resize(static_cast<std::size_t>(asked.workers));
    asio::io_context context{1};
    colock::client redis{context.get_executor(), asked.redis};
    redis.run(asio::detached);
    std::exception_ptr failure;
    asio::co_spawn(context, drive(redis, asked, out), [&](std::exception_ptr failed) {
        failure = failed;
        redis.close(asio::detached);
    });
    context.run();
    if (failure)
        std::rethrow_exception(failure);
    return out;
}

std::string report::to_json() const
{
    std::vector<std::uint32_t> all;
    std::int64_t acquired = 0, in_all = 0, errors = 0;
    std::int64_t least = INT64_MAX, most = 0;
    for (auto const& w : workers) {
        all.insert(all.end(), w.latencies.begin(), w.latencies.end());
        acquired += w.acquired;
        in_all += w.acquired_in_all;
        errors += w.errors;
        least = std::min(least, w.acquired);
        most = std::max(most, w.acquired);
    }
    auto round_trips = pings;
    auto in_a_burst = ping_burst;
    // The pings of a lone worker are no part of its pairs.
    auto const pinging = workers.size() == 1 ? workers.front().pinging : steady::duration{};
    double const seconds = asked.seconds - std::chrono::duration<double>(pinging).count();
    char line[1024];
    std::snprintf(
        line,
        sizeof line,
        "{\"peer\":\"colock\",\"variant\":\"%s\",\"w\":\"%s\",\"workers\":%d,\"p50_us\":%.3f,"
        "\"p99_us\":%.3f,\"max_us\":%.3f,\"acq\":%lld,\"acq_all\":%lld,\"errors\":%lld,"
        "\"rate\":%.3f,\"min_w\":%lld,\"max_w\":%lld,\"overlaps\":0,\"mutex_ok\":true,"
        "\"ping_p50_us\":%.3f,\"ping_burst_p50_us\":%.3f,\"script_share\":%.4f,"
        "\"server_cpu_share\":%.4f}",
        asked.variant.c_str(),
        asked.workload.c_str(),
        asked.workers,
        quantile(all, 0.5),
        quantile(all, 0.99),
        quantile(all, 1.0),
        static_cast<long long>(acquired),
        static_cast<long long>(in_all),
        static_cast<long long>(errors),
        static_cast<double>(acquired) / seconds,
        static_cast<long long>(least),
        static_cast<long long>(most),
        quantile(round_trips, 0.5),
        quantile(in_a_burst, 0.5),
        script_seconds / window_seconds,
        server_cpu_seconds / window_seconds
    );
    return line;
}

}  // namespace bench
