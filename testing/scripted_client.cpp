#include "base/skip_time.hpp"
#include "base/timer.hpp"
#include "decide/names.hpp"
#include "double_transport.hpp"
#include "event_counter.hpp"
#include "locks/client_access.hpp"
#include <colock/testing/scripted_client.hpp>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <utility>

namespace colock::testing {

namespace {

using namespace std::chrono_literals;
using real_clock = std::chrono::steady_clock;

/// What a test may take; more says that something is waited for that never comes.
constexpr auto longest_run = 10s;
constexpr clock::duration longest_flight = 1h;

config with(config settings, std::shared_ptr<observer> events)
{
    settings.observer = std::move(events);
    return settings;
}

}  // namespace

struct scripted_client::inside {
    /// Does nothing once this is gone.
    template <class F>
    auto guarded(F f) const
    {
        return [is = alive, f](auto&&...) {
            if (*is)
                f();
        };
    }

    inside(asio::io_context* given, config settings)
        : own{given ? nullptr : std::make_unique<asio::io_context>(1)}
        , context{given ? *given : *own}
        , server{std::make_shared<double_server>(settings.key_prefix)}
        , events{std::make_shared<event_counter>(settings.observer)}
        , prefix{settings.key_prefix}
        , step_limit{std::clamp<clock::duration>(settings.lease / 20, 1ms, 1s)}
        , poll_cap{settings.poll_cap}
        , client{detail::client_access::make(make_core(with(std::move(settings), events)))}
    {
        events->on_end = [this] { asio::post(context, guarded([this] { end_silence(); })); };
        client.run([](error_code) {});
    }
    ~inside()
    {
        events->on_end = [] {};
        *alive = false;
    }

    detail::core_ptr make_core(config settings)
    {
        return detail::core::make(
            context.get_executor(),
            std::move(settings),
            [this](detail::core& c, transport_listener& who) {
                auto made = std::make_unique<double_transport>(c, who, server);
                transport = made.get();
                return made;
            }
        );
    }

    std::string key(std::string_view name) const { return prefix + std::string{name}; }

    // ---- Time ----------------------------------------------------------------------------------

    /// A timer that is due before all others makes Asio look at each by the clock as it is now.
    void poke(std::function<void()> const& then)
    {
        poker.expires_at(time_point{});
        poker.async_wait(guarded(then));
    }

    void skip(clock::duration time)
    {
        skip_time(time);
        flown += time;
    }

    bool wants_to_fly() const
    {
        if (clock::now() < fly_until)
            return true;
        if (transport->is_silent())
            return client.stats().holds != 0;
        if (client.stats().links_up == 0 &&
            (client.stats().waiters != 0 || transport->owes_answers()))
            return true;
        auto const recent = clock::now() - 2 * poll_cap;
        return client.stats().waiters != 0 &&
            std::ranges::any_of(server->others.refused, [&](auto const& r) {
                   return r.second > recent;
               });
    }

    /// To the next moment at which something may happen, and not far.
    void fly()
    {
        auto const now = clock::now();
        auto time = std::clamp<clock::duration>(flown / 10, 1ms, step_limit);
        if (fly_until > now)
            time = std::min(time, fly_until - now);
        for (auto const& [name, end] : ends)
            if (end.expiry() > now)
                time = std::min(time, end.expiry() - now);
        skip(time);
        // A handler may throw out of this and leave the poker waiting.
        auto const poked = std::make_shared<bool>(false);
        poke([poked] { *poked = true; });
        while (!*poked) {
            go_on();
            context.run_one();
            check_limits();
        }
    }

    void drive(std::function<bool()> const& is_so)
    {
        begun = real_clock::now();
        flown = {};
        while (!is_so()) {
            if (!run_ready()) {
                if (wants_to_fly())
                    fly();
                else
                    context.run_one_for(1ms);
            }
            check_limits();
        }
        while (run_ready())
            check_limits();
    }

    /// The code under test may stop the context.
    void go_on()
    {
        if (context.stopped())
            context.restart();
    }

    bool run_ready()
    {
        go_on();
        return context.poll_one() != 0;
    }

    void check_limits() const
    {
        if (flown > longest_flight || real_clock::now() - begun > longest_run)
            throw std::runtime_error{complaint()};
    }

    std::string complaint() const
    {
        std::string text = "colock::testing::scripted_client: what it runs has not ended after ";
        text += flown > longest_flight ? "an hour of colock's clock" : "10 s";
        text += "; calls that wait: " + std::to_string(client.stats().waiters);
        for (auto const& [refused, when] : server->others.refused)
            text += "; occupied and waited for: '" + refused.substr(prefix.size()) +
                "' (vacate() it, or occupy() it for a time)";
        if (client.stats().links_up == 0)
            text += "; disconnected (connect())";
        return text;
    }

    // ---- What happens --------------------------------------------------------------------------

    void take_away(std::string const& key)
    {
        if (server->remove(key))
            transport->make_confirm(decide::slot_of(key));
    }

    void end_silence()
    {
        if (!transport->is_silent() || client.stats().holds != 0)
            return;
        server->remove_all();
        transport->reconnect();
    }

    std::unique_ptr<asio::io_context> own;
    asio::io_context& context;
    std::shared_ptr<bool> alive = std::make_shared<bool>(true);
    std::shared_ptr<double_server> server;
    std::shared_ptr<event_counter> events;
    std::string prefix;
    clock::duration step_limit;
    clock::duration poll_cap;
    clock::duration flown{};         ///< since the run has begun
    real_clock::time_point begun{};  ///< when that was
    time_point fly_until{};
    strand_type strand{asio::make_strand(asio::any_io_executor{context.get_executor()})};
    timer_type poker{strand};
    std::map<std::string, timer_type> ends;  ///< when somebody else gives it back, by name
    double_transport* transport = nullptr;
    colock::client client;
};

config scripted_client::quiet()
{
    config settings;
    settings.log = {};
    return settings;
}

scripted_client::scripted_client(config settings)
    : inside_{std::make_unique<inside>(nullptr, std::move(settings))}
{}

scripted_client::scripted_client(asio::io_context& context, config settings)
    : inside_{std::make_unique<inside>(&context, std::move(settings))}
{}

scripted_client::~scripted_client() = default;

colock::client& scripted_client::client() noexcept { return inside_->client; }

asio::io_context& scripted_client::context() noexcept { return inside_->context; }

asio::io_context::executor_type scripted_client::get_executor() noexcept
{
    return inside_->context.get_executor();
}

// ---- Who has what ------------------------------------------------------------------------------

void scripted_client::occupy(std::string const& name)
{
    auto const key = inside_->key(name);
    inside_->ends.erase(name);
    inside_->server->occupy(key);
    inside_->take_away(key);
}

void scripted_client::occupy(std::string const& name, milliseconds how_long)
{
    occupy(name);
    auto& end = inside_->ends.emplace(name, inside_->strand).first->second;
    end.expires_at(clock::now() + how_long);
    end.async_wait([is = inside_->alive, this, name](error_code ec) {
        if (!ec && *is)
            vacate(name);
    });
}

void scripted_client::vacate(std::string const& name)
{
    inside_->ends.erase(name);
    inside_->server->vacate(inside_->key(name));
}

void scripted_client::lose(std::string const& name) { inside_->take_away(inside_->key(name)); }

void scripted_client::let_leases_run_out()
{
    if (inside_->client.stats().holds != 0)
        inside_->transport->fall_silent();
}

// ---- The server --------------------------------------------------------------------------------

void scripted_client::disconnect(error_code why) { inside_->transport->disconnect(why); }

void scripted_client::connect() { inside_->transport->connect(); }

void scripted_client::refuse(std::string const& name)
{
    inside_->server->refusing.insert(inside_->key(name));
}

void scripted_client::accept(std::string const& name)
{
    inside_->server->refusing.erase(inside_->key(name));
}

// ---- Running -----------------------------------------------------------------------------------

void scripted_client::run(asio::awaitable<void> work)
{
    auto const thrown = std::make_shared<std::optional<std::exception_ptr>>();
    asio::co_spawn(context(), std::move(work), [thrown](std::exception_ptr e) { *thrown = e; });
    run_until([thrown] { return thrown->has_value(); });
    if (**thrown)
        std::rethrow_exception(**thrown);
}

void scripted_client::run_until(std::function<bool()> const& is_so) { inside_->drive(is_so); }

void scripted_client::run_for(milliseconds time)
{
    inside_->fly_until = clock::now() + time;
    inside_->drive([this] { return clock::now() >= inside_->fly_until; });
}

void scripted_client::freeze(milliseconds time)
{
    inside_->skip(time);
    inside_->poke([] {});
}

// ---- Checks ------------------------------------------------------------------------------------

bool scripted_client::is_held(std::string const& name) const
{
    return inside_->server->is_held(inside_->key(name));
}

std::vector<std::string> scripted_client::held() const
{
    auto names = inside_->server->held();
    for (auto& name : names)
        name.erase(0, inside_->prefix.size());
    return names;
}

std::size_t scripted_client::waiters() const { return inside_->client.stats().waiters; }

namespace {

std::size_t count_of(event_counter::counts const& counts, std::string const& key)
{
    auto const at = counts.find(key);
    return at == counts.end() ? 0 : at->second;
}

}  // namespace

std::size_t scripted_client::times_acquired(std::string_view name) const
{
    return count_of(inside_->events->times_acquired, inside_->key(name));
}

std::size_t scripted_client::times_released(std::string_view name) const
{
    return count_of(inside_->events->times_released, inside_->key(name));
}

std::size_t scripted_client::times_lost(std::string_view name) const
{
    return count_of(inside_->events->times_lost, inside_->key(name));
}

}  // namespace colock::testing
