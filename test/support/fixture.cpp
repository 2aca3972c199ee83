// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "client/client_access.hpp"
#include "client/client_state.hpp"
#include "decide/presence.hpp"
#include "support/fixture.hpp"
#include "support/identity.hpp"
#include "support/redis_cluster.hpp"
#include "support/sentinel_group.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <exception>
#include <stdexcept>
#include <utility>

namespace colock::test {

logger log_lines::sink()
{
    return {
        [this](log_level, std::string_view line) {
            std::scoped_lock const guard{mutex_};
            lines_.emplace_back(line);
        },
        log_level::debug};
}

std::size_t log_lines::count(std::string_view text) const
{
    std::scoped_lock const guard{mutex_};
    std::size_t found = 0;
    for (auto const& line : lines_)
        found += line.find(text) != line.npos;
    return found;
}

std::string log_lines::all() const
{
    std::scoped_lock const guard{mutex_};
    std::string text;
    for (auto const& line : lines_)
        text += line + '\n';
    return text;
}

asio::awaitable<bool> eventually(
    std::function<bool()> is_so, milliseconds limit, std::source_location from
)
{
    bool const held = co_await ever(std::move(is_so), limit);
    BOOST_TEST(
        held, from.file_name() << ':' << from.line() << ": not so within " << limit.count() << " ms"
    );
    co_return held;
}

asio::awaitable<bool> ever(std::function<bool()> is_so, milliseconds limit)
{
    stopwatch const waited;
    asio::steady_timer tick{co_await asio::this_coro::executor};
    while (!is_so()) {
        if (milliseconds{waited.ms()} > limit)
            co_return false;
        tick.expires_after(1ms);
        co_await tick.async_wait(asio::deferred);
    }
    co_return true;
}

asio::awaitable<void> time_passes(milliseconds how_long)
{
    asio::steady_timer timer{co_await asio::this_coro::executor, how_long};
    co_await timer.async_wait(asio::deferred);
}

std::string unique_name(std::string_view about)
{
    static std::atomic<unsigned> count = 0;
    return "test:" + std::string{about} + ":" + std::to_string(++count);
}

config quick(config where)
{
    where.lease = 10s;
    where.poll_cap = 30s;
    where.linger = 50ms;
    where.timeout = 1s;
    where.close_timeout = 5s;
    return where;
}

config brief(config where)
{
    auto c = quick(std::move(where));
    c.lease = brief_lease;
    return c;
}

bool is_waiting(client const& at, std::string const& name)
{
    auto const& inside = *detail::client_access::inside(at);
    reported_presence of_it{std::chrono::steady_clock::now() + 1min};  // the youngest as well
    for (auto const& each : inside.keyed_states().all()) {
        if (each->name() != name)
            continue;
        if (each->awaits_message())
            return true;
        using detail::lock_kind;
        auto const kind = each->kind();
        if (kind == state_of(lock_kind::read) || kind == state_of(lock_kind::fair))
            each->tell(of_it);  // by channels of their own
    }
    return std::ranges::any_of(of_it.told.entries, &decide::client_report::entry::waits) &&
        at.stats().subscriptions != 0;
}

std::string mailbox_of(client const& whose, std::string const& name)
{
    auto const& inside = *detail::client_access::inside(whose);
    return inside.mailbox_prefix(decide::slot_of(name)) + inside.uuid();
}

running_client::running_client(
    asio::any_io_executor executor, config settings, std::shared_ptr<log_lines> lines
)
    : log{std::move(lines)}
    , ended{std::make_shared<std::optional<error_code>>()}
    , client{detail::client_access::make(
          detail::client_state::make(std::move(executor), std::move(settings), next_identity())
      )}
{
    run();
}

void running_client::run()
{
    ended->reset();
    client.run([result = ended](error_code ec) { *result = ec; });
}

lab::lab(redis_server* first, config where, std::function<std::vector<redis_server*>()> servers)
    : server_{first}
    , where_{std::move(where)}
    , servers_{std::move(servers)}
    , context_{std::make_unique<asio::io_context>(1)}
{}

lab::lab(redis_server& server)
    : lab{&server, server.by_socket(), [&server] { return std::vector{&server}; }}
{}

lab::lab(redis_cluster& cluster)
    : lab{&cluster.node(0), cluster.by_cluster(), [&cluster] { return cluster.primaries(); }}
{}

lab::lab(sentinel_group& group)
    : lab{&group.server(0), group.by_sentinel(), [&group] {
              return std::vector{&group.server(group.current_primary())};
          }}
{}

lab::lab(config where) : lab{nullptr, std::move(where), [] { return std::vector<redis_server*>{}; }}
{}

lab::~lab() = default;

running_client& lab::connect(config settings)
{
    auto lines = std::make_shared<log_lines>();
    settings.log = lines->sink();
    if (!settings.vote_after)
        settings.vote_after = 0ms;  // the servers of tests have just started
    // The sink is called by the inside, which may outlive this.
    settings.log.sink = [lines, sink = settings.log.sink](log_level at, std::string_view line) {
        sink(at, line);
    };
    return clients_.emplace_back(context_->get_executor(), std::move(settings), lines);
}

void lab::run_only(std::function<asio::awaitable<void>()> what, milliseconds limit)
{
    bool done = false;
    std::exception_ptr thrown;
    auto const end = std::chrono::steady_clock::now() + limit;
    context_->restart();
    asio::co_spawn(*context_, std::move(what), [&](std::exception_ptr e) {
        done = true;
        thrown = e;
    });
    while (!done && std::chrono::steady_clock::now() < end)
        context_->run_one_until(end);
    if (!done) {
        for (auto const& each : clients_)
            BOOST_TEST_MESSAGE("log of a client:\n" << each.log->all());
        leave_context();
        throw std::runtime_error{"the test did not end in time"};
    }
    if (thrown)
        std::rethrow_exception(thrown);
}

void lab::run(std::function<asio::awaitable<void>()> what, milliseconds limit)
{
    run_only(std::move(what), limit);
    run_only([this] { return close_all(); });
}

asio::awaitable<void> lab::close_all()
{
    for (auto& each : clients_) {
        auto const [ec] = co_await each.client.close(asio::as_tuple(asio::deferred));
        BOOST_TEST(
            (!ec || ec == error::closed),
            "close: " << ec.message() << '\n'
                      << each.log->all()
        );
        bool const ended = co_await eventually([&] {
            return each.ended->has_value() && each.client.stats().links_up == 0;
        });
        BOOST_TEST(ended, "the client goes on after close()");
        auto const left = each.client.stats();
        BOOST_TEST(left.waiters == 0U);
        BOOST_TEST(left.holds == 0U);
        BOOST_TEST(left.owed_releases == 0U);
    }
    check_no_key_is_left();
}

void lab::check_no_key_is_left()
{
    for (auto* server : servers_()) {
        auto const keys = server->ask("KEYS", "*");
        for (auto const& key : keys.items)
            BOOST_TEST(
                (key.text.rfind("colock_fence:", 0) == 0 ||
                 key.text.rfind("redisson_lock_token:", 0) == 0 ||
                 key.text.rfind("colock_once", 0) == 0 ||
                 key.text.rfind("colock_client:", 0) == 0 || key.text.rfind("other:", 0) == 0),
                "left in Redis: " << key.text
            );
        server->ask("FLUSHALL");
    }
}

// Its handlers refer to the stack of the test, so they are neither run nor destroyed; what the test
// still has, locks above all, needs a context.
void lab::leave_context()
{
    static auto& unfinished = *new std::vector<std::unique_ptr<asio::io_context>>;
    clients_.clear();
    unfinished.push_back(std::move(context_));
}

void lab::destroy_context()
{
    clients_.clear();
    context_.reset();
}

}  // namespace colock::test
