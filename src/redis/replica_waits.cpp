#include "redis/replica_waits.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

namespace colock {

using decide::reply;

namespace {

/// The server has become a replica in the meantime, or it is busy. It may be asked another time.
bool is_for_the_moment(std::string_view text) noexcept
{
    return text.starts_with("UNBLOCKED") || text.find("replica instances") != text.npos ||
        decide::classify(text) != decide::fault::refused;
}

error_code unsynced(step const& s, reply const& waited) noexcept
{
    if (waited.what == reply::kind::error && is_for_the_moment(waited.text))
        return error::not_replicated;
    if (waited.what != reply::kind::integer)
        return error::unsupported;
    return waited.number >= s.replicas ? error_code{} : error_code{error::not_replicated};
}

}  // namespace

void replica_waits::wrote(std::span<step* const> steps, time_point now)
{
    for (auto const* s : steps)
        if (s->replicas != 0) {
            wanted_ = std::max(wanted_, s->replicas);
            wanted_until_ = std::max(wanted_until_, now + s->replica_limit);
        }
    if (wanted_ != 0 && (under_way_ == 0 || !is_short_))
        ask(now);
}

void replica_waits::ask(time_point now)
{
    auto most = std::exchange(wanted_, 0U);
    auto until = std::exchange(wanted_until_, {});
    for (auto const& each : kept_) {
        most = std::max(most, each.what->replicas);
        until = std::max(until, each.until());
    }
    auto const left = std::chrono::ceil<milliseconds>(until - now);
    ++under_way_;
    listener_.write_wait(most, std::clamp(left, milliseconds{1}, slice));
}

void replica_waits::keep(step& s, reply&& value, time_point sent)
{
    kept_.push_back({&s, std::move(value), sent});
}

void replica_waits::on_reply(resp::message const& got)
{
    if (!std::exchange(has_waited_, true)) {
        waited_ = resp::to_reply(got);
        return;
    }
    has_waited_ = false;
    // Without the number nothing says that it was the answer to WAIT.
    answered(got.is_error() ? reply::error("UNBLOCKED") : waited_, clock::now());
}

void replica_waits::answered(reply const& waited, time_point now)
{
    auto const self = shared_from_this();
    --under_way_;
    bool const is_count = waited.what == reply::kind::integer;
    for (auto& each : std::exchange(kept_, {})) {
        each.unsynced = unsynced(*each.what, waited);
        bool const may_come = is_count && each.unsynced && now < each.until();
        may_come ? kept_.push_back(std::move(each)) : ready_.push_back(std::move(each));
    }
    is_short_ = !kept_.empty();
    if (under_way_ == 0 && (is_short_ || wanted_ != 0))
        ask(now);
    tell();
}

void replica_waits::tell()
{
    while (!ready_.empty() && !is_dropped_) {
        auto next = std::move(ready_.front());
        ready_.pop_front();
        listener_.on_waited(*next.what, std::move(next.value), next.sent, next.unsynced);
    }
}

void replica_waits::on_lost(error_code)
{
    auto const self = shared_from_this();
    under_way_ = wanted_ = 0;
    is_short_ = has_waited_ = false;
    for (auto const& each : std::exchange(kept_, {}))
        if (is_dropped_)
            each.what->answered.destroy_waiting();
        else
            listener_.on_step_lost(*each.what, each.sent);
}

void replica_waits::drop_steps() noexcept
{
    is_dropped_ = true;
    for (auto const& each : std::exchange(kept_, {}))
        each.what->answered.destroy_waiting();
    for (auto const& each : std::exchange(ready_, {}))
        each.what->answered.destroy_waiting();
}

}  // namespace colock
