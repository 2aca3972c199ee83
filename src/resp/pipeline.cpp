#include "resp/pipeline.hpp"

#include <algorithm>
#include <utility>

namespace colock::resp {

// ---- Out ---------------------------------------------------------------------------------------

void pipeline::expect(reply_handler* who, time_point now, answered_by how)
{
    auto const count = out_.commands() - announced_;
    if (count == 0)
        return;
    announced_ = out_.commands();
    if (failed_) {
        if (who)
            who->on_lost(failed_);
        return;
    }
    // The memory of answered commands is used again, so that a busy connection allocates nothing.
    if (first_owed_ == owed_.size()) {
        owed_.clear();
        first_owed_ = 0;
    } else if (first_owed_ > 64 && first_owed_ > owed_.size() / 2) {
        owed_.erase(owed_.begin(), owed_.begin() + static_cast<std::ptrdiff_t>(first_owed_));
        first_owed_ = 0;
    }
    owed_.push_back({who, count, now, how});
}

void pipeline::take_output(std::string& into) noexcept
{
    into.clear();
    out_.swap_bytes(into);
}

// ---- In ----------------------------------------------------------------------------------------

void pipeline::hear(time_point now) noexcept
{
    heard_ = now;
    silence_ends_ = now + time_limits_.silence;
    asked_ = looked_ = probed_ = false;
}

error_code pipeline::received(std::size_t bytes, time_point now)
{
    parser_.commit(bytes);
    hear(now);
    while (!failed_) {
        switch (parser_.next()) {
        case parser::outcome::more: return {};
        case parser::outcome::broken: return error::bad_reply;
        case parser::outcome::message: break;
        }
        if (auto const ec = dispatch(parser_.last(), now))
            return ec;
    }
    return failed_;
}

error_code pipeline::dispatch(message const& got, time_point now)
{
    if (got.is_push() && !is_answer(got)) {
        if (pushes_)
            pushes_->on_push(got);
        return {};
    }
    // A reply without a command: the client can no longer match replies to commands.
    if (is_idle())
        return error::bad_reply;
    owed& first = owed_[first_owed_];
    if (!got.is_push() && first.how == answered_by::push && !got.is_error())
        return error::bad_reply;
    auto* const who = first.who;
    note_answer(first, now);
    if (who)
        who->on_reply(got);
    return {};
}

bool pipeline::is_answer(message const& push)
{
    if (is_idle())
        return false;
    auto const& first = owed_[first_owed_];
    return first.how == answered_by::push && first.who && first.who->is_answered_by(push);
}

void pipeline::note_answer(owed& first, time_point now) noexcept
{
    if (first.is_first) {
        // A reply that came before its command was written is measured as none.
        auto const sample = std::max(now - first.sent, clock::duration{});
        round_trip_ =
            round_trip_ == clock::duration{} ? sample : round_trip_ + (sample - round_trip_) / 8;
        first.is_first = false;
    }
    if (--first.replies == 0)
        ++first_owed_;
}

void pipeline::fail(error_code why)
{
    if (failed_)
        return;
    failed_ = why;
    auto const lost = std::move(owed_);
    auto const from = first_owed_;
    owed_.clear();
    first_owed_ = 0;
    for (std::size_t i = from; i != lost.size(); ++i)
        if (lost[i].who)
            lost[i].who->on_lost(why);
}

void pipeline::forget_owed() noexcept
{
    if (!failed_)
        failed_ = error::closed;
    owed_.clear();
    first_owed_ = 0;
    pushes_ = nullptr;
}

// ---- Time --------------------------------------------------------------------------------------

/// The time since when an answer is due and nothing comes.
time_point pipeline::quiet_since() const noexcept
{
    return std::max(owed_[first_owed_].sent, heard_);
}

clock::duration pipeline::loss_limit() const noexcept
{
    return std::max(time_limits_.loss, 3 * round_trip_);
}

time_point pipeline::next_look() const noexcept
{
    return is_idle() || probed_ ? silence_ends_
                                : std::min(silence_ends_, quiet_since() + loss_limit());
}

pipeline::verdict pipeline::look(time_point now)
{
    if (now >= silence_ends_) {
        // The answer to the PING is looked for twice. After a pause of the process or of its event
        // loop, the first look may come before the client has read an answer that has already
        // arrived.
        if (asked_ && std::exchange(looked_, true))
            return verdict::silent;
        silence_ends_ = now + time_limits_.silence / 2;
        if (std::exchange(asked_, true))
            return verdict::fine;
        ping(now);
        return verdict::write;
    }
    if (is_idle() || probed_ || now < quiet_since() + loss_limit())
        return verdict::fine;
    probed_ = true;
    ping(now);
    return verdict::write;
}

void pipeline::ping(time_point now)
{
    out_.push("PING");
    expect(nullptr, now);
}

}  // namespace colock::resp
