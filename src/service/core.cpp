#include "decide/validity.hpp"
#include "redis/single_server.hpp"
#include "service/client_registry.hpp"
#include "service/contention.hpp"
#include "service/core.hpp"
#include "service/tenure.hpp"

#include <boost/asio/query.hpp>
#include <boost/uuid/random_generator.hpp>
#include <boost/uuid/uuid_io.hpp>

#include <algorithm>
#include <cassert>
#include <unistd.h>
#include <utility>

namespace colock::detail {

core::core(asio::any_io_executor executor, config settings)
    : executor_{std::move(executor)}
    , strand_{asio::make_strand(executor_)}
    , settings_{std::move(settings)}
    , events_{settings_.observer ? settings_.observer : std::make_shared<observer>()}
    , uuid_{boost::uuids::to_string(boost::uuids::random_generator{}())}
    , random_{std::random_device{}()}
    , process_{::getpid()}
    , timer_{strand_}
    , close_limit_{[this] { finish_closing(error::unavailable); }}
    , watchdog_{*this}
    , rechecks_{*this}
    , subscriptions_{*this}
{}

core_ptr core::make(asio::any_io_executor executor, config settings)
{
    return make(std::move(executor), std::move(settings), [](core& c, transport_listener& who) {
        return std::make_unique<single_server>(
            link_context{
                c.strand_,
                c.settings_,
                c.agenda_,
                [&c] { c.arm_timer(); },
                [&c] { return c.dice(); },
                c.weak_from_this(),
                [&c] { return c.is_context_gone_.load(); }},
            who
        );
    });
}

core_ptr core::make(
    asio::any_io_executor executor, config settings, make_transport const& transport
)
{
    std::shared_ptr<core> made{new core{std::move(executor), std::move(settings)}, &core::destroy};
    made->transport_ = transport(*made, *made);
    auto& context = asio::query(made->executor_, asio::execution::context);
    asio::use_service<client_registry>(context).add(made);
    return made;
}

core::~core() { destroy_pending(); }

/// Destroys a core on its strand, or where the context destroys what it will not run any more.
struct core::farewell {
    explicit farewell(core* c) noexcept : whole{c} {}
    farewell(farewell&&) noexcept = default;
    ~farewell()
    {
        if (whole)
            whole->is_context_gone_ = true;
    }
    void operator()() { whole.reset(); }

    std::unique_ptr<core> whole;
};

// The last reference may go on any thread, while handlers of the connections run on the strand.
void core::destroy(core* c) noexcept
{
    farewell last{c};
    if (c->is_shut_down())
        return;  // no handler runs any more
    auto const strand = c->strand_;
    asio::dispatch(strand, std::move(last));
}

// ---- Life
// ----------------------------------------------------------------------------------------

error_code core::check_settings() const
{
    auto const& s = settings_;
    auto const complain = [this](char const* what) {
        write_log(settings_.log, log_level::error, std::string{"config: "} + what);
        return error_code{error::invalid_argument};
    };
    if (s.addresses.empty())
        return complain("addresses is empty; name a server");
    if (s.lease < decide::shortest_renewed_lease || s.lease > decide::longest_lease)
        return complain("lease must be from 100 ms to ten years");
    if (s.max_hold && *s.max_hold <= milliseconds{0})
        return complain("max_hold must be positive");
    if (s.loss_margin && *s.loss_margin < milliseconds{0})
        return complain("loss_margin must not be negative");
    if (s.poll_cap < milliseconds{10})
        return complain("poll_cap must be at least 10 ms");
    if (s.linger < milliseconds{0} || s.timeout < milliseconds{1})
        return complain("linger must not be negative, timeout at least 1 ms");
    if (s.max_tenure < milliseconds{0})
        return complain("max_tenure must not be negative; 0 turns hand-over off");
    if (s.poller_gap && (*s.poller_gap <= milliseconds{0} || *s.poller_gap > milliseconds{1'000}))
        return complain("poller_gap must be positive and at most 1 s");
    for (auto const limit :
         {s.poll_cap,
          s.max_tenure,
          s.linger,
          s.timeout,
          s.max_hold.value_or(s.lease),
          s.loss_margin.value_or(s.lease),
          s.close_timeout.value_or(s.lease)})
        if (limit > decide::longest_lease)
            return complain("no duration may be over ten years");
    if (s.links < 1 || s.links > 64)
        return complain("links must be from 1 to 64");
    if (s.database < 0)
        return complain("database must not be negative");
    if (s.client_name.find_first_of(" \n\r\t") != std::string::npos)
        return complain("client_name must have no spaces");
    return {};
}

void core::run(std::shared_ptr<operation> who, completion<> done)
{
    assert(process_ == ::getpid() && "a colock::client must not be used in a forked child");
    if (phase_ == phase::closing || phase_ == phase::closed)
        return done(error::closed);
    if (phase_ == phase::running)
        return done(asio::error::already_started);
    if (auto const ec = check_settings())
        return done(ec);
    phase_ = phase::running;
    runner_ = std::move(who);
    running_ = std::move(done);
    transport_->start();
    for (auto& t : tenures_)  // held since before a stop; sending brings their links up
        t.renew_now();
    for (unsigned link = 0; link != settings_.links; ++link)
        watchdog_.send(link);
}

void core::cancel_run(std::shared_ptr<operation> const& who)
{
    if (runner_ != who)
        return;
    end_run(asio::error::operation_aborted);
    stop();
}

// The closing goes on; nobody waits for its end.
void core::cancel_close(std::shared_ptr<operation> const& who)
{
    if (closer_ == who && closing_)
        closing_(asio::error::operation_aborted);
}

void core::end_run(error_code ec)
{
    runner_.reset();
    if (running_)
        running_(ec);
}

void core::stop()
{
    if (is_stopped())
        return;
    phase_ = phase_ == phase::closing ? phase::closed : phase::stopped;
    transport_->stop();
    end_waiters(error::closed);
    rechecks_.stop();
    subscriptions_.stop();
    watchdog_.stop();
    rearm_timer();  // for what still has to end by itself
    end_run({});
    finish_closing(error::closed);
}

void core::retire()
{
    stop();
    phase_ = phase::closed;
    end_waiters(error::closed);  // those that came after an earlier stop()
}

void core::close(std::shared_ptr<operation> who, completion<> done)
{
    if (phase_ == phase::closed || closer_)
        return done(error::closed);
    if (phase_ != phase::running) {
        // No link will come up: leases run out by themselves.
        bool const held = !tenures_.empty();
        phase_ = phase::closing;
        stop();
        return done(held ? error_code{error::unavailable} : error_code{});
    }
    unreleased_ = false;
    phase_ = phase::closing;
    closer_ = std::move(who);
    closing_ = std::move(done);
    set_alarm(close_limit_, clock::now() + settings_.close_timeout.value_or(settings_.lease));
    end_waiters(error::closed);
    for (auto at = tenures_.begin(); at != tenures_.end();) {
        auto const held = (at++)->shared_from_this();
        held->release_all();
    }
    finish_closing_if_done();
}

void core::finish_closing_if_done()
{
    // A key without an ownership has an acquire under way, which may still be granted.
    if (closer_ && !is_stopped() && tenures_.empty() && keys_.empty())
        finish_closing(unreleased_ ? error_code{error::unavailable} : error_code{});
}

void core::finish_closing(error_code ec)
{
    if (!std::exchange(closer_, nullptr))
        return;
    close_limit_.clear();
    auto done = std::exchange(closing_, {});
    stop();
    if (done)
        done(ec);
}

error_code core::refusal() const noexcept
{
    return phase_ == phase::closing || phase_ == phase::closed ? error_code{error::closed}
                                                               : error_code{};
}

void core::end_waiters(error_code why)
{
    for (auto const& name : key_names())
        if (auto* const key = find_key(name))
            key->end_waiters(why);
}

void core::shut_down() noexcept
{
    is_context_gone_ = true;
    destroy_pending();
}

void core::destroy_pending() noexcept
{
    if (shut_down_.exchange(true))
        return;
    // Handlers hold coroutines of the user, which hold locks, holds and clients: all of them are
    // destroyed here, while this is still whole.
    auto const life = weak_from_this().lock();
    auto const running = std::exchange(running_, {});
    auto const closing = std::exchange(closing_, {});
    auto const runner = std::exchange(runner_, nullptr);
    auto const closer = std::exchange(closer_, nullptr);
    if (transport_)
        transport_->abandon();
    std::vector<std::shared_ptr<tenure>> tenures;
    for (auto& t : tenures_)
        tenures.push_back(t.shared_from_this());
    for (auto const& t : tenures)
        t->abandon();
    for (auto const& [name, key] : keys_)
        key->abandon();
    while (!pauses_.empty()) {
        pause& under_way = pauses_.front();
        pauses_.pop_front();
        under_way.over.drop();
    }
    agenda_.clear();
    drain_abandoned();
}

// ---- State
// ---------------------------------------------------------------------------------------

contention& core::key(std::string const& name)
{
    if (auto* const known = find_key(name))
        return *known;
    auto made = std::make_unique<contention>(*this, name);
    return *keys_.emplace(made->name(), std::move(made)).first->second;
}

std::vector<std::string> core::key_names() const
{
    std::vector<std::string> names;
    names.reserve(keys_.size());
    for (auto const& [name, key] : keys_)
        names.emplace_back(name);
    return names;
}

contention* core::find_key(std::string_view name) noexcept
{
    auto const at = keys_.find(name);
    return at == keys_.end() ? nullptr : at->second.get();
}

void core::forget_if_idle(contention& key) noexcept
{
    if (!key.is_idle())
        return;
    keys_.erase(keys_.find(std::string_view{key.name()}));
    finish_closing_if_done();
}

void core::add(tenure& t) { tenures_.push_back(t); }

void core::remove(tenure& t) noexcept
{
    if (!t.is_listed())
        return;
    tenures_.erase(tenures_.iterator_to(t));
    finish_closing_if_done();
}

void core::set_alarm(decide::agenda::entry& e, time_point at)
{
    if (at == never)
        e.clear();
    else if (agenda_.set(e, at))
        arm_timer();
}

void core::rest(pause& p, milliseconds how_long)
{
    pauses_.push_back(p);
    set_alarm(p.alarm, clock::now() + how_long);
}

// The timer is moved for what is earlier than what it waits for, and otherwise left: an entry that
// was cleared costs at most one idle wake-up.
void core::arm_timer()
{
    if (agenda_.next() >= armed_)
        return;
    armed_ = agenda_.next();
    timer_.expires_at(armed_);
    timer_.async_wait([weak = weak_from_this()](error_code ec) {
        auto const self = weak.lock();
        if (ec || !self || self->shut_down_)
            return;
        self->armed_ = never;
        self->agenda_.run(clock::now());
        self->arm_timer();
    });
}

void core::rearm_timer()
{
    armed_ = never;
    timer_.cancel();
    arm_timer();
}

void core::abandon(hold_ptr dropped) noexcept
{
    if (shut_down_)
        return;
    hold_state& state = *dropped;
    state.next_abandoned = abandoned_.load(std::memory_order_relaxed);
    state.self = std::move(dropped);
    while (!abandoned_.compare_exchange_weak(
        state.next_abandoned, &state, std::memory_order_release, std::memory_order_relaxed
    )) {}
    try {
        asio::post(strand_, [self = shared_from_this()] { self->drain_abandoned(); });
    } catch (...) {
        // It stays on the list, and goes with the next one that is dropped.
    }
}

void core::drain_abandoned() noexcept
{
    auto* next = abandoned_.exchange(nullptr, std::memory_order_acquire);
    while (next) {
        hold_ptr const dropped = std::move(next->self);
        next = next->next_abandoned;
        if (dropped->ownership && !shut_down_)
            dropped->ownership->drop(dropped);
    }
}

// ---- What the transport tells
// --------------------------------------------------------------------

void core::on_link_up(std::size_t link, std::uint64_t epoch)
{
    count.links_up = transport_->links_up();
    if (epoch > 1)
        ++count.reconnects;
    log(log_level::info, [&] {
        return "link " + std::to_string(link) + ": up, connection " + std::to_string(epoch);
    });
    events_->link_up(link, epoch);
    if (epoch == 1)
        return;
    // What is held is confirmed at once, and who sleeps may have missed a message.
    auto const mine = [&](unsigned slot) { return transport_->link_of(slot) == link; };
    for (auto& t : tenures_)
        if (mine(t.slot()))
            t.renew_now();
    watchdog_.send(static_cast<unsigned>(link));
    for (auto const& name : key_names())
        if (auto* const key = find_key(name); key && mine(key->slot()))
            key->wake_sleeper();
}

void core::on_link_down(std::size_t link, error_code why)
{
    count.links_up = transport_->links_up();
    log(is_stopped() ? log_level::debug : log_level::warning, [&] {
        return "link " + std::to_string(link) + ": lost: " + why.message() + "; connecting again";
    });
    events_->link_down(link, why);
    if (!is_stopped())
        return;
    // The steps that were under way have their answers by then: nothing may wait for a limit that
    // was theirs, or the context would not come to its end.
    asio::post(strand_, [self = shared_from_this()] {
        if (self->is_stopped())
            self->rearm_timer();
    });
}

void core::on_subscribed(std::string_view channel) { subscriptions_.on_subscribed(channel); }

void core::on_message(std::string_view channel, std::string_view payload)
{
    subscriptions_.on_message(channel, payload);
}

void core::on_push_up()
{
    count.links_up = transport_->links_up();
    events_->link_up(settings_.links, 0);
    subscriptions_.on_push_up();
}

void core::on_push_down()
{
    count.links_up = transport_->links_up();
    subscriptions_.on_push_down();
}

void core::on_changed(error_code ec) { subscriptions_.on_changed(ec); }

}  // namespace colock::detail
