// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "simulation/world/dice.hpp"
#include "simulation/world/network.hpp"

#include <boost/asio/error.hpp>

#include <algorithm>
#include <utility>

namespace colock::simulation {

using namespace std::chrono_literals;

moment network::delay()
{
    auto const usual = dice_.between(now.least, now.most);
    return happens(now.slow) ? dice_.between(usual, now.slowest) : usual;
}

moment network::notice()
{
    return dice_.percent(60) ? dice_.between(0us, 2ms) : dice_.between(2ms, 1s);
}

moment network::hold_up()
{
    return held_up != 0 && dice_.percent(held_up) ? dice_.between(0us, longest_hold_up) : moment{};
}

void network::part(int machine, int node, moment until)
{
    parted_[{machine, node}] = until;
    cut([&](line const& l) { return l.to_machine() == machine && l.to_node() == node; });
}

bool network::is_parted(int machine, int node) const
{
    auto const at = parted_.find({machine, node});
    return at != parted_.end() && time_.now() < at->second;
}

using decide::reply;
using namespace std::chrono_literals;

// ---- Connecting --------------------------------------------------------------------------------

void connecting_line::start()
{
    if (std::exchange(started_, true))
        return;
    failures_ = 0;
    if (!wire_)  // else it has been stopped this very moment, and connects when that is done
        connect();
}

void connecting_line::stop()
{
    started_ = false;
    ++attempt_;
    later([this, ending = wire_] {
        if (ending && wire_ == ending)
            break_off(asio::error::operation_aborted);
    });
}

// A round trip to connect, and one in which the server ends the last connection.
void connecting_line::connect()
{
    auto const attempt = ++attempt_;
    auto const way = where_.net.delay() + where_.net.delay() + where_.net.delay();
    where_.time.after(way, [self = shared_from_this(), this, attempt] {
        if (attempt != attempt_)
            return;
        if (where_.at.is_down || where_.net.is_parted(to_machine(), to_node()))
            return try_again();
        if (auto const last = last_wire_.lock(); last && where_.net.may_kill)
            last->is_ended = true;
        on_ended_there();
        auto made = std::make_shared<wire>();
        made->last_out = where_.time.now() + where_.net.delay();
        coming_ = made;
        where_.time.at(made->last_out, [self, this, attempt, made] {
            later([this, attempt, made] {
                if (attempt == attempt_ && started_)
                    open(made);
            });
        });
    });
}

void connecting_line::try_again()
{
    auto const attempt = attempt_;
    auto const longest = std::min(50ms * (1U << std::min(failures_++, 3U)), 250ms);
    where_.time.after(
        where_.net.luck().between(longest / 2, longest),
        [self = shared_from_this(), this, attempt] {
            later([this, attempt] {
                if (attempt == attempt_ && started_)
                    connect();
            });
        }
    );
}

void connecting_line::open(std::shared_ptr<wire> made)
{
    if (made->is_cut)
        return try_again();
    wire_ = std::move(made);
    last_wire_ = wire_;
    failures_ = 0;
    ++epoch_;
    on_up();
}

void connecting_line::cut(moment notice)
{
    if (auto const made = coming_.lock(); made && !wire_)
        made->is_cut = true;
    if (!wire_ || wire_->is_cut)
        return;
    wire_->is_cut = true;
    wire_->held_up_until = where_.time.now() + where_.net.hold_up();
    where_.time.after(notice, [self = shared_from_this(), this, w = wire_] {
        on_ended_there();
        later([this, w] {
            if (wire_ == w)
                break_off(asio::error::eof);
        });
    });
}

void connecting_line::break_off(error_code why)
{
    if (!wire_)
        return;
    wire_->is_cut = true;
    wire_.reset();
    auto const self = shared_from_this();
    on_down(why);
    if (alive_ && started_)
        connect();
}

// ---- Steps -------------------------------------------------------------------------------------

struct command_line::request {
    std::shared_ptr<call_batch> batch;
    std::string bytes;
};

void command_line::submit(step& s)
{
    if (how_.without_clock && s.tokens == clock_tokens)
        s.tokens = redisson_tokens;
    waiting_.push_back(s);
    if (is_up())
        schedule_flush();
}

void command_line::destroy_pending() noexcept
{
    alive_ = false;
    *whole_ = false;
    destroy_tasks(waiting_);
    for (auto const& sent : std::exchange(in_flight_, {}))
        sent->drop_steps();
    replicas_->drop_steps();
}

void command_line::fail_waiting(error_code why)
{
    step_list failing;
    failing.swap(waiting_);
    fail_all(std::move(failing), whole_, why);
}

void command_line::schedule_flush()
{
    if (!std::exchange(flushing_, true))
        later([this] { flush(); });
}

void command_line::flush()
{
    flushing_ = false;
    if (waiting_.empty() || !is_up())
        return;
    auto sent = std::make_shared<request>();
    sent->batch = std::make_shared<call_batch>(static_cast<call_batch::listener&>(*this));
    in_flight_.push_back(sent->batch);
    resp::writer out;
    sent->batch->fill(
        waiting_,
        {.by_slot = how_.by_slot,
         .publish = how_.publish,
         .known = &known_,
         .on = &life_,
         .settings = how_.settings},
        out,
        clock::now()
    );
    out.swap_bytes(sent->bytes);
    if (where_.net.loses_request())
        cut(where_.net.notice());
    carry_in([this, sent](std::shared_ptr<wire> const& w) { run_there(*sent, w); });
    replicas_->wrote(sent->batch->steps(), clock::now());
}

void command_line::write_wait(unsigned count, bool, milliseconds limit)
{
    resp::writer out;
    out.push("WAIT", count, limit.count());
    std::string bytes;
    out.swap_bytes(bytes);
    carry_in([this, bytes](std::shared_ptr<wire> const& w) {
        auto got = where_.at.run(bytes);
        carry_out(w, got.held_back, [this, answer = std::move(got.replies.front())] {
            replicas_->answered(answer, reply{}, clock::now());
        });
    });
}

unsigned command_line::replicas_there(unsigned) { return where_.at.replicas; }

void command_line::look_at(time_point at)
{
    auto const left = std::chrono::ceil<moment>(std::max(at - clock::now(), clock::duration{}));
    where_.time.after(left, [self = shared_from_this(), this] {
        later([this] {
            if (is_up())
                replicas_->look(clock::now());
        });
    });
}

void command_line::on_waited(step& s, answer&& got) { s.answered.set(std::move(got)); }

// Of a batch whose sender has gone the server knows nothing, and runs it all the same.
void command_line::run_there(request const& sent, std::shared_ptr<wire> const& w)
{
    auto got = where_.at.run(sent.bytes);
    if (where_.net.loses_reply() && wire_ == w)
        cut(where_.net.notice());
    carry_out(w, {}, [this, batch = sent.batch, replies = std::move(got.replies)]() mutable {
        take(*batch, replies);
    });
}

void command_line::take(call_batch& sent, std::vector<reply> const& replies)
{
    auto const self = shared_from_this();
    auto const carried = wire_;
    std::vector<resp::node> nodes;
    for (auto const& each : replies) {
        if (!alive_ || wire_ != carried)
            return;
        nodes.clear();
        flatten(each, nodes);
        static_cast<resp::reply_handler&>(sent).on_reply({nodes, false});
    }
    if (alive_ && wire_ == carried && std::exchange(is_replica_, false))
        cut(0us);
}

void command_line::on_batch_over(call_batch& over)
{
    std::erase_if(in_flight_, [&over](auto const& each) { return each.get() == &over; });
}

void command_line::on_step_lost(step& s, time_point sent)
{
    s.answered.set({answer::kind::lost, {}, error::unavailable, sent});
}

void command_line::on_step(step& s, reply&& got, bool in_company, time_point sent)
{
    if (got.what == reply::kind::error)
        settle_error(s, got, in_company, sent);
    else if (replica_waits::concern(s, got))
        replicas_->keep(s, std::move(got), sent);
    else {
        bool const has_written = got.what != reply::kind::nil || s.repeats || s.alone;
        if (auto owed = std::exchange(s.owed, nullptr); owed && has_written)
            replicas_->owe(std::move(owed), clock::now());
        s.answered.set({answer::kind::replied, std::move(got), {}, sent});
    }
}

// As command_link::settle_error.
void command_line::settle_error(step& s, reply const& got, bool in_company, time_point sent)
{
    using decide::fault;
    auto const what = decide::classify(got.text);
    if (what == fault::script_missing && !s.as_text) {
        s.as_text = true;
        return submit(s);
    }
    if (what == fault::redirected) {
        auto const to = decide::read_redirection(got.text);
        if (!in_company || to.what != decide::redirection::kind::try_again)
            return listener_.on_redirect(s, to, sent);
        s.alone = true;
        return submit(s);
    }
    is_replica_ |= what == fault::read_only;
    if (what == fault::read_only || what == fault::not_now)
        return s.answered.set({answer::kind::not_now, {}, error::unavailable, sent});
    if (what == fault::wrong_type)
        return s.answered.set({answer::kind::failed, {}, error::wrong_type, sent});
    if (in_company) {
        s.alone = true;
        return submit(s);
    }
    s.answered.set({answer::kind::failed, {}, error::server_refused, sent, what == fault::passing});
}

void command_line::on_up()
{
    known_.clear();
    life_.begin(static_cast<std::uint32_t>(epoch()), where_.net.may_kill);
    listener_.on_line_up(*this);
    if (alive_ && !waiting_.empty())
        schedule_flush();
}

void command_line::on_down(error_code why)
{
    auto const whole = whole_;
    for (auto const& sent : std::exchange(in_flight_, {}))
        if (*whole)
            static_cast<resp::reply_handler&>(*sent).on_lost(why);
        else
            sent->drop_steps();
    if (*whole)
        static_cast<resp::reply_handler&>(*replicas_).on_lost(why);
    if (*whole)
        listener_.on_line_down(*this, why);
    if (*whole && !is_started())
        fail_waiting(error::closed);
}

// ---- Messages ----------------------------------------------------------------------------------

void pubsub_line::change_subscriptions(subscription_change const& what)
{
    carry_in([this, what](std::shared_ptr<wire> const& w) {
        there_ = w;
        for (auto const& channel : what.unsubscribe)
            where_.at.unsubscribe(*this, channel);
        std::vector<std::pair<std::string, std::string>> answers;
        for (auto const& channel : what.subscribe) {
            auto const busy =
                where_.at.refusal.starts_with("LOADING") || where_.at.refusal.starts_with("BUSY");
            if (!busy)
                where_.at.subscribe(*this, channel);
            answers.emplace_back(channel, busy ? where_.at.refusal : std::string{});
        }
        carry_out(w, {}, [this, answers = std::move(answers)] {
            for (auto const& [channel, why] : answers)
                if (alive_ && why.empty())
                    listener_.on_subscribed(number_, channel);
                else if (alive_)
                    listener_.on_refused(number_, channel, why);
            if (alive_)
                listener_.on_changed(number_);
        });
    });
}

void pubsub_line::send(std::string_view channel, std::string_view payload)
{
    auto const w = there_.lock();
    if (!w || where_.net.loses_message())
        return;
    carry_out(w, {}, [this, channel = std::string{channel}, payload = std::string{payload}] {
        listener_.on_message(number_, channel, payload);
    });
}

void pubsub_line::end(std::string const& channel)
{
    where_.at.unsubscribe(*this, channel);
    if (auto const w = there_.lock())
        carry_out(w, {}, [this, channel] { listener_.on_ended(number_, channel); });
}

}  // namespace colock::simulation
