// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "core/core.hpp"
#include "redis/call_batch.hpp"
#include "redis/replica_waits.hpp"
#include "simulation/world/node.hpp"
#include "simulation/world/timeline.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace colock::simulation {

/// What packets meet on their way.
struct weather {
    moment least = std::chrono::microseconds{60};
    moment most = std::chrono::microseconds{300};
    std::uint64_t slow = 0;  ///< of a million packets so many take up to `slowest`
    moment slowest{};

    // Of a million: the connection breaks before a request has come, after it has run, and a
    // message is lost without a trace.
    std::uint64_t lost_requests = 0;
    std::uint64_t lost_replies = 0;
    std::uint64_t lost_messages = 0;
};

/// One TCP connection: each direction keeps its order.
struct wire {
    moment last_in{}, last_out{};  ///< when the last byte arrives, at the server and at the client
    moment held_up_until{};        ///< what was on its way when it broke comes then
    bool is_cut = false;           ///< what is written now arrives nowhere
    bool has_gap = false;          ///< something on its way to the server was lost
    bool is_ended = false;         ///< the server has ended it: nothing more of it runs
};

/// A client's end of a connection, as the network sees it.
class line {
public:
    line(int machine, int node) noexcept : machine_{machine}, node_{node} {}

    int to_machine() const noexcept { return machine_; }
    int to_node() const noexcept { return node_; }
    virtual bool is_push() const noexcept = 0;

    /// The connection breaks, and the client notices after so long.
    virtual void cut(moment notice) = 0;

protected:
    ~line() = default;

private:
    int machine_;
    int node_;
};

/// Delays, losses and partitions between machines and nodes.
class network {
public:
    network(timeline& time, dice d) noexcept : time_{time}, dice_{d} {}

    weather now;

    // Of so many of a hundred connections that break, what is on its way comes late.
    unsigned held_up = 0;
    moment longest_hold_up{};
    bool may_kill = true;  ///< the server ends a connection that was replaced

    moment delay();

    /// When a packet arrives that is sent now behind all others of its direction.
    moment arrival(moment& last)
    {
        last = std::max(last, time_.now() + delay());
        return last;
    }

    bool loses_request() noexcept { return happens(now.lost_requests); }
    bool loses_reply() noexcept { return happens(now.lost_replies); }
    bool loses_message() noexcept { return happens(now.lost_messages); }

    /// How long a client takes to see that a connection has gone: at once, or by its silence.
    moment notice();

    /// How much later comes what is on its way over a connection that breaks.
    moment hold_up();

    dice& luck() noexcept { return dice_; }

    // ---- Partitions ----------------------------------------------------------------------------

    void part(int machine, int node, moment until);
    bool is_parted(int machine, int node) const;
    void heal() { parted_.clear(); }

    // ---- Lines ---------------------------------------------------------------------------------

    void add(line& l) { lines_.push_back(&l); }
    void remove(line& l) noexcept { std::erase(lines_, &l); }

    template <class IsMeant>
    void cut(IsMeant const& is_meant)
    {
        for (auto* const each : std::vector{lines_})
            if (is_meant(*each))
                each->cut(notice());
    }

    /// One of them.
    template <class IsMeant>
    void cut_one(IsMeant const& is_meant, std::uint64_t which)
    {
        std::vector<line*> meant;
        std::ranges::copy_if(lines_, std::back_inserter(meant), [&](auto const* each) {
            return is_meant(*each);
        });
        if (!meant.empty())
            meant[which % meant.size()]->cut(notice());
    }

private:
    bool happens(std::uint64_t per_million) noexcept
    {
        return per_million != 0 && dice_.per_million(per_million);
    }

    timeline& time_;
    dice dice_;
    std::map<std::pair<int, int>, moment> parted_;
    std::vector<line*> lines_;
};

/// What connects one client to one node, again and again: the part that command_line and push_line
/// have in common. All of it belongs to the client's strand but what `later` brings there.
class connecting_line : public line, public std::enable_shared_from_this<connecting_line> {
public:
    struct place {
        timeline& time;
        network& net;
        node& at;
        int machine;
        std::size_t index;
        std::weak_ptr<detail::core> client;
    };

    virtual ~connecting_line() { where_.net.remove(*this); }

    void start();
    void stop();
    bool is_started() const noexcept { return started_; }
    bool is_up() const noexcept { return wire_ != nullptr; }
    std::size_t index() const noexcept { return where_.index; }
    std::uint64_t epoch() const noexcept { return epoch_; }
    error_code down_reason() const noexcept { return wire_ ? error_code{} : error::unavailable; }

    void cut(moment notice) override;

protected:
    explicit connecting_line(place where) : line{where.machine, where.at.number()}, where_{where}
    {
        where_.net.add(*this);
    }

    virtual void on_up() = 0;
    virtual void on_down(error_code why) = 0;

    /// The node learns that the connection has ended.
    virtual void on_ended_there() {}

    /// Runs it on the strand, if client and line are still there.
    template <class F>
    void later(F f)
    {
        auto life = where_.client.lock();
        if (!life || !alive_)
            return;
        auto const& strand = life->strand();
        asio::post(
            strand,
            [self = shared_from_this(), life = std::move(life), f = std::move(f)]() mutable {
                if (self->alive_ && !life->is_shut_down())
                    f();
            }
        );
    }

    /// Sends bytes, and does `f` when they are at the node, unless the connection keeps them from
    /// running there.
    template <class F>
    void carry_in(F f)
    {
        auto& w = *wire_;
        if (w.is_cut)
            return;
        where_.time.at(
            where_.net.arrival(w.last_in),
            [self = shared_from_this(), carried = wire_, f = std::move(f)]() mutable {
                self->arrive(carried, std::move(f));
            }
        );
    }

    /// The way back.
    template <class F>
    void carry_out(std::shared_ptr<wire> const& w, moment held_back, F f)
    {
        if (w->is_cut || w->is_ended)
            return;
        w->last_out = std::max(w->last_out, where_.time.now() + held_back);
        where_.time.at(
            where_.net.arrival(w->last_out),
            [self = shared_from_this(), carried = w, f = std::move(f)]() mutable {
                if (!carried->is_cut)
                    self->later([self = self.get(), carried, f = std::move(f)]() mutable {
                        if (self->wire_ == carried)
                            f();
                    });
            }
        );
    }

    void break_off(error_code why);

    template <class F>
    void arrive(std::shared_ptr<wire> const& carried, F f)
    {
        if (where_.time.now() < carried->held_up_until)
            return where_.time.at(
                carried->held_up_until,
                [self = shared_from_this(), carried, f = std::move(f)]() mutable {
                    self->arrive(carried, std::move(f));
                }
            );
        // Of a connection that broke some bytes had come before, which may run late.
        if (carried->is_cut && !carried->has_gap)
            carried->has_gap = where_.net.luck().percent(50);
        if (!carried->has_gap && !carried->is_ended && !where_.at.is_down)
            f(carried);
    }

    place where_;
    bool alive_ = true;
    std::shared_ptr<wire> wire_;

private:
    void connect();
    void try_again();
    void open(std::shared_ptr<wire>);

    std::weak_ptr<wire> last_wire_;  ///< which the next connection ends
    std::weak_ptr<wire> coming_;     ///< made at the server, which the client hears of next
    bool started_ = false;
    unsigned attempt_ = 0;  ///< of what is under way the latest
    unsigned failures_ = 0;
    std::uint64_t epoch_ = 0;
};

/// A connection that carries steps, as colock's command_link does: steps of one turn go out in one
/// write, joined by the library's own call_batch.
class command_line final :
    public connecting_line,
    private call_batch::listener,
    private replica_waits::listener {
public:
    class listener {
    public:
        virtual void on_line_up(command_line&) = 0;
        virtual void on_line_down(command_line&, error_code) = 0;

        /// The node has not run the step: its slot is elsewhere, or on its way.
        virtual void on_redirect(step&, decide::redirection const&, time_point sent) = 0;

    protected:
        ~listener() = default;
    };

    struct habits {
        bool by_slot = false;
        publishing publish = publishing::plain;
        bool without_clock = false;  ///< broken on purpose: tokens may fall
        config const* settings = nullptr;
    };

    command_line(place where, listener& who, habits how)
        : connecting_line{std::move(where)}
        , listener_{who}
        , how_{how}
        , life_{.link = static_cast<std::uint32_t>(index() + 1)}
    {}
    ~command_line() override { destroy_pending(); }

    bool is_push() const noexcept override { return false; }
    void submit(step&);
    void fail_waiting(error_code);
    void destroy_pending() noexcept;

    /// Hands over what waits and is wanted elsewhere.
    template <class IsWanted>
    void take_waiting(step_list& into, IsWanted const& is_wanted)
    {
        for (auto at = waiting_.begin(); at != waiting_.end();)
            if (step& s = *at++; is_wanted(s)) {
                s.unlink();
                into.push_back(s);
            }
    }

private:
    struct request;

    void on_up() override;
    void on_down(error_code why) override;
    void schedule_flush();
    void flush();
    void run_there(request const&, std::shared_ptr<wire> const&);
    void take(call_batch&, std::vector<decide::reply> const&);

    void on_step(step&, decide::reply&&, bool in_company, time_point) override;
    void on_waited(step&, answer&&) override;
    void write_wait(unsigned count, bool disk, milliseconds limit) override;
    unsigned replicas_there(unsigned seen) override;
    void look_at(time_point) override;
    void on_step_lost(step&, time_point sent) override;
    void on_batch_over(call_batch&) override;
    void settle_error(step&, decide::reply const&, bool in_company, time_point sent);

    listener& listener_;
    habits how_;
    decide::connection_life life_;
    step_list waiting_;
    std::vector<std::shared_ptr<call_batch>> in_flight_;
    std::shared_ptr<replica_waits> replicas_ =
        std::make_shared<replica_waits>(static_cast<replica_waits::listener&>(*this));
    known_scripts known_;
    bool flushing_ = false;
    bool is_replica_ = false;  ///< a step was refused as if this were one
    std::shared_ptr<bool> whole_ = std::make_shared<bool>(true);
};

/// A connection that carries messages.
class pubsub_line final : public connecting_line, private subscriber {
public:
    pubsub_line(place where, transport_listener& who, unsigned number)
        : connecting_line{std::move(where)}
        , listener_{who}
        , number_{number}
    {}
    ~pubsub_line() override { where_.at.forget(*this); }

    bool is_push() const noexcept override { return true; }
    void change_subscriptions(subscription_change const&);
    void destroy_pending() noexcept { alive_ = false; }

private:
    void on_up() override { listener_.on_pubsub_up(number_, epoch()); }
    void on_down(error_code why) override { listener_.on_pubsub_down(number_, why); }
    void on_ended_there() override { where_.at.forget(*this); }
    void send(std::string_view channel, std::string_view payload) override;
    void end(std::string const& channel) override;

    transport_listener& listener_;
    unsigned number_;
    std::weak_ptr<wire> there_;  ///< the connection over which it has subscribed
};

}  // namespace colock::simulation
