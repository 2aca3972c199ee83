#include "base/timer.hpp"
#include "client/client_access.hpp"
#include "client/client_state.hpp"
#include "decide/names.hpp"
#include "decide/validity.hpp"
#include "double_transport.hpp"
#include "event_counter.hpp"
#include "flight.hpp"
#include <colock/testing/scripted_client.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace colock {
inline namespace v0_3 {
namespace testing {

namespace {

using namespace std::chrono_literals;

/// As long as colock's own limit: the clock's time of any more overflows.
milliseconds at_most(milliseconds time) { return std::min(time, decide::longest_lease); }

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
        , poll_cap{settings.poll_cap}
        , clock_flight{context, strand, flights(settings)}
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

    flight::plan flights(config const& settings)
    {
        return {
            .longest_step = std::clamp<clock::duration>(settings.lease / 20, 1ms, 1s),
            .is_wanted = [this] { return only_time_is_waited_for(); },
            .next_stop = [this] { return next_end(); },
            .who_waits = [this] { return who_waits(); },
        };
    }

    detail::core_ptr make_core(config settings)
    {
        return detail::client_state::make(
            context.get_executor(),
            std::move(settings),
            [this](detail::core& c, transport_listener& who) {
                auto made = std::make_unique<double_transport>(c, who, server);
                transport = made.get();
                return made;
            },
            // So a test of a user sees the same delays each time.
            detail::core::identity::of(1)
        );
    }

    std::string key(std::string_view name) const { return prefix + std::string{name}; }

    /// By one of these each request for this name can be told.
    std::set<std::string> keys_of(std::string_view name) const
    {
        auto of = key(name);
        auto leases = decide::permit_leases(of, prefix), tokens = decide::token_counter(of, prefix);
        return {std::move(of), std::move(leases), std::move(tokens)};
    }

    // ---- Time ----------------------------------------------------------------------------------

    bool only_time_is_waited_for() const
    {
        if (transport->is_silent())
            return client.stats().holds != 0;
        if (client.stats().links_up == 0 &&
            (client.stats().waiters != 0 || transport->owes_answers()))
            return true;
        auto const recent = clock::now() - 2 * poll_cap;
        return client.stats().waiters != 0 &&
            std::ranges::any_of(server->refused(), [&](auto const& r) {
                   return r.second > recent;
               });
    }

    /// When somebody else gives something back next.
    time_point next_end() const
    {
        auto first = time_point::max();
        for (auto const& [name, end] : ends)
            if (end->expiry() > clock::now())
                first = std::min(first, end->expiry());
        return first;
    }

    std::string who_waits() const
    {
        std::string text = "; calls that wait: " + std::to_string(client.stats().waiters);
        for (auto const& [refused, when] : server->refused())
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
    clock::duration poll_cap;
    strand_type strand{asio::make_strand(asio::any_io_executor{context.get_executor()})};
    flight clock_flight;
    /// When somebody else gives it back, by name.
    std::map<std::string, std::shared_ptr<timer_type>> ends;
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
    auto const end = std::make_shared<timer_type>(inside_->strand);
    inside_->ends[name] = end;
    end->expires_at(clock::now() + at_most(how_long));
    end->async_wait([is = inside_->alive, this, name, mine = std::weak_ptr{end}](error_code ec) {
        if (ec || !*is)
            return;
        auto const now = inside_->ends.find(name);
        if (now != inside_->ends.end() && now->second == mine.lock())  // it is not occupied anew
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

void scripted_client::disconnect() { inside_->transport->disconnect(); }

void scripted_client::connect() { inside_->transport->connect(); }

void scripted_client::refuse(std::string const& name)
{
    inside_->server->refusing.merge(inside_->keys_of(name));
}

void scripted_client::accept(std::string const& name)
{
    for (auto const& key : inside_->keys_of(name))
        inside_->server->refusing.erase(key);
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

void scripted_client::run_until(std::function<bool()> const& is_so)
{
    inside_->clock_flight.run_until(is_so);
}

void scripted_client::run_for(milliseconds time) { inside_->clock_flight.run_for(at_most(time)); }

void scripted_client::freeze(milliseconds time) { inside_->clock_flight.freeze(at_most(time)); }

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

}  // namespace testing
}  // namespace v0_3
}  // namespace colock
