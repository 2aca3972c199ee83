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

bool is_number(reply const& r) noexcept { return r.what == reply::kind::integer; }

/// The answer to WAITAOF: how many have it on disk, first the server itself.
bool is_on_disk(reply const& synced) noexcept
{
    return synced.what == reply::kind::list && !synced.items.empty() &&
        is_number(synced.items.front()) && synced.items.front().number > 0;
}

/// Why an answer to a question is none.
error_code why_unanswered(reply const& got, reply::kind expected) noexcept
{
    if (got.what == expected)
        return {};
    bool const is_passing = got.what == reply::kind::error && is_for_the_moment(got.text);
    return is_passing ? error::not_replicated : error::unsupported;
}

bool is_met(decide::copies const& wants, unsigned there, unsigned acknowledged, bool on_disk)
{
    return acknowledged >= wants.replicas(there) && (on_disk || !wants.wants_disk());
}

}  // namespace

bool replica_waits::concern(step const& s, reply const& answer) noexcept
{
    if (s.wants.is_none() || s.owed)
        return false;
    auto const is_there = [](reply const& part) { return is_number(part) && part.number != 0; };
    return is_number(answer) || s.repeats ||
        (s.whole && std::ranges::any_of(answer.items, is_there));
}

void replica_waits::wrote(std::span<step* const> steps, time_point now)
{
    for (auto const* s : steps)
        if (!s->wants.is_none()) {
            wanted_ |= s->wants;
            wanted_until_ = std::max(wanted_until_, now + s->copies_limit);
        }
    if (!wanted_.is_none() && (under_way_.empty() || !is_short_))
        ask(now);
}

void replica_waits::ask(time_point now)
{
    auto most = std::exchange(wanted_, {});
    auto until = std::max(std::exchange(wanted_until_, {}), now + milliseconds{1});
    for (auto const& each : kept_) {
        most |= each.what->wants;
        until = std::max(until, each.until());
    }
    if (!owed_.empty())
        until = std::max(until, now + slice);
    for (auto const& each : owed_)
        most |= each->wants;
    auto const left = std::chrono::ceil<milliseconds>(until - now);
    under_way_.push_back(most.wants_disk());
    listener_.write_wait(
        most.replicas(listener_.replicas_there(0)),
        most.wants_disk(),
        std::clamp(left, milliseconds{1}, slice)
    );
}

void replica_waits::keep(step& s, reply&& value, time_point sent)
{
    kept_.push_back({&s, std::move(value), sent});
}

void replica_waits::owe(std::shared_ptr<owed_copies> what, time_point now)
{
    owed_.push_back(std::move(what));
    if (under_way_.empty())
        listener_.look_at(now + pause_);
}

void replica_waits::look(time_point now)
{
    if (!owed_.empty() && under_way_.empty())
        ask(now);
}

void replica_waits::on_reply(resp::message const& got)
{
    std::size_t const questions = under_way_.front() ? 2 : 1;
    if (waited_.size() != questions) {
        waited_.push_back(resp::to_reply(got));
        return;
    }
    auto const all = std::exchange(waited_, {});
    // Without the number nothing says that these were the answers.
    auto const nothing = reply::error("UNBLOCKED");
    bool const is_sure = !got.is_error();
    auto const& synced = questions == 2 ? all.front() : nothing;
    answered(is_sure ? all.back() : nothing, is_sure ? synced : nothing, clock::now());
}

template <class IsMet>
std::vector<std::shared_ptr<owed_copies>> replica_waits::take_covered(
    time_point now, IsMet const& is_met
)
{
    std::vector<std::shared_ptr<owed_copies>> covered;
    for (auto& each : std::exchange(owed_, {}))
        (is_met(*each) || now >= each->until ? covered : owed_).push_back(std::move(each));
    pause_ = owed_.empty() ? owed_pause : std::min(2 * pause_, longest_owed_pause);
    return covered;
}

void replica_waits::answered(reply const& waited, reply const& synced, time_point now)
{
    auto const self = shared_from_this();
    bool const asked_disk = under_way_.front();
    under_way_.pop_front();
    auto const replicas = is_number(waited) ? static_cast<unsigned>(waited.number) : 0U;
    auto const there = listener_.replicas_there(replicas);
    bool const on_disk = asked_disk && is_on_disk(synced);
    auto const has = decide::copies::had(replicas, there, on_disk);
    for (auto& each : std::exchange(kept_, {})) {
        auto const& wants = each.what->wants;
        auto why = wants.replicas(there) != 0 ? why_unanswered(waited, reply::kind::integer)
                                              : error_code{};
        if (!why && wants.wants_disk() && asked_disk)
            why = why_unanswered(synced, reply::kind::list);
        bool const is_answered = !why;
        if (is_answered && !is_met(wants, there, replicas, on_disk))
            why = error::not_replicated;
        each.unsynced = why;
        each.has = has;
        if (!why)
            each.has |= wants;
        each.replicas = replicas;
        bool const may_come = is_answered && why && now < each.until();
        may_come ? kept_.push_back(std::move(each)) : ready_.push_back(std::move(each));
    }
    is_short_ = !kept_.empty();
    auto const covered = take_covered(now, [&](owed_copies const& each) {
        return is_met(each.wants, there, replicas, on_disk);
    });
    if (under_way_.empty() && (is_short_ || !wanted_.is_none()))
        ask(now);
    else if (under_way_.empty() && !owed_.empty())
        listener_.look_at(now + pause_);
    for (auto const& each : covered)
        if (!is_dropped_)
            each->on_covered();
    tell();
}

void replica_waits::tell()
{
    while (!ready_.empty() && !is_dropped_) {
        auto next = std::move(ready_.front());
        ready_.pop_front();
        listener_.on_waited(
            *next.what,
            {answer::kind::replied,
             std::move(next.value),
             {},
             next.sent,
             false,
             next.unsynced,
             next.has,
             next.replicas}
        );
    }
}

void replica_waits::on_lost(error_code)
{
    auto const self = shared_from_this();
    under_way_.clear();
    waited_.clear();
    wanted_ = {};
    is_short_ = false;
    for (auto const& each : std::exchange(kept_, {}))
        if (is_dropped_)
            each.what->answered.destroy_waiting();
        else
            listener_.on_step_lost(*each.what, each.sent);
    lose_owed();
}

void replica_waits::lose_owed()
{
    auto const self = shared_from_this();
    pause_ = owed_pause;
    for (auto const& each : std::exchange(owed_, {}))
        if (!is_dropped_)
            each->on_copies_lost();
}

void replica_waits::drop_steps() noexcept
{
    is_dropped_ = true;
    for (auto const& each : std::exchange(kept_, {}))
        each.what->answered.destroy_waiting();
    for (auto const& each : std::exchange(ready_, {}))
        each.what->answered.destroy_waiting();
    owed_.clear();
}

}  // namespace colock
