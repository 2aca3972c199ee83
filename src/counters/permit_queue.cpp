#include "core/core.hpp"
#include "core/subscription_manager.hpp"
#include "counters/permit_queue.hpp"
#include "decide/backoff.hpp"
#include "decide/names.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

namespace colock {

namespace {

constexpr milliseconds first_pause{20};
constexpr milliseconds longest_pause{5'000};

}  // namespace

permit_queue::permit_queue(
    core& inside, state_kind kind, std::string name, std::unique_ptr<permit_protocol> protocol
)
    : keyed_state{inside, kind, std::move(name)}
    , protocol_{std::move(protocol)}
    , others_{inside.settings().poll_cap}
    , sleep_{[this] { wake(); }}
    , expiry_{[this] { withdraw_unsent(); }}
{}

permit_queue::~permit_queue() = default;

void permit_queue::admit(std::shared_ptr<permit_request> const& who)
{
    who->asked = clock::now();
    bool const comes_after = who->once && sleeping_ && !queue_.empty();
    if (comes_after && !protocol_->asks_for_all()) {
        who->complete({});
        return;
    }
    who->queue = this;
    who->queued = who;
    queue_.push_back(*who);
    ++core_.count.waiters;
    if (who->wait)
        core_.set_alarm(who->limit, who->asked + *who->wait);
    if (!contending_)
        contend();
    else if (comes_after)
        wake();
}

void permit_queue::take_out(permit_request& who)
{
    queue_.erase(queue_.iterator_to(who));
    --core_.count.waiters;
    who.limit.clear();
    who.queue = nullptr;
}

std::shared_ptr<permit_request> permit_queue::pop()
{
    auto first = std::move(queue_.front().queued);
    take_out(*first);
    return first;
}

void permit_queue::tell_acquired(permit_request const& who) const
{
    auto const waited = std::chrono::duration_cast<microseconds>(clock::now() - who.asked);
    core_.events().acquired(name(), waited, who.attempts);
}

void permit_queue::leave(permit_request& who, error_code why)
{
    auto const life = shared_from_this();
    auto const self = std::move(who.queued);
    bool const was_first = &queue_.front() == &who;
    take_out(who);
    if (why || !who.once)
        core_.tell_ended(name(), who.asked, who.attempts, why);
    who.complete(why);
    if (was_first)
        ask_for_next();
}

// The client asks for the next one at once. A request that is not sent yet is taken back.
void permit_queue::ask_for_next()
{
    if (sleeping_)
        wake();
    else if (!undoing_)
        withdraw_unsent();
}

void permit_queue::withdraw_unsent()
{
    if (sending_ && core_.transport().withdraw(*sending_))
        sending_->answered.set({});
}

void permit_queue::end_waiters(error_code why)
{
    auto const life = shared_from_this();
    while (!queue_.empty()) {
        permit_request& who = queue_.front();
        auto const self = std::move(who.queued);
        take_out(who);
        who.complete(why);
    }
    ask_for_next();
}

void permit_queue::destroy_pending() noexcept
{
    while (!queue_.empty()) {
        permit_request& who = queue_.front();
        auto const self = std::move(who.queued);
        queue_.pop_front();
        who.limit.clear();
        who.queue = nullptr;
        who.destroy_handler();
    }
}

void permit_queue::count_attempt()
{
    for (permit_request& who : queue_) {
        ++who.attempts;
        if (!protocol_->asks_for_all())
            return;
    }
}

// Try-once callers behind a refused head fail too, because each would need its own request.
void permit_queue::send_away_who_tried_once()
{
    for (auto at = queue_.begin(); at != queue_.end();) {
        permit_request& who = *at++;
        if (!who.once || (who.attempts == 0 && protocol_->asks_for_all()))
            continue;
        auto const self = std::move(who.queued);
        take_out(who);
        who.complete({});
    }
}

void permit_queue::on_reached()
{
    if (sleeping_)
        wake();
    else if (is_expired())
        withdraw_unsent();
}

bool permit_queue::is_expired() const
{
    return request_.is_open() && clock::now() >= protocol_->open_until(request_);
}

permit_queue::action permit_queue::decide_next()
{
    if (is_expired())
        request_.closed();
    bool const waited_for = !queue_.empty();
    return request_.next(waited_for, waited_for && protocol_->fits(queue_.front(), request_));
}

// Each turn of the loop asks the server once for the first in the queue, or gives back what nobody
// wants.
strand_task permit_queue::contend()
{
    core::activity const contending{core_};
    contending_ = true;
    others_.begin_wait();
    for (auto next = decide_next(); next != action::none; next = decide_next()) {
        if (next == action::give) {
            protocol_->give(*this, std::exchange(request_, {}));
            continue;
        }
        if (next == action::begin)
            protocol_->begin(queue_.front());
        undoing_ = next == action::undo;
        auto what = undoing_ ? protocol_->undo(request_) : protocol_->ask();
        if (!what) {
            request_.closed();
            continue;
        }
        if (!undoing_)
            count_attempt();
        wake_.reset();
        heard_ = never;
        script_call now{std::move(*what), slot()};
        if (request_.is_open() && !core_.is_stopped())  // it would keep a stopped client busy
            core_.set_alarm(expiry_, protocol_->open_until(request_));
        sending_ = &now.call;
        core_.transport().submit(now.call);
        answer const got = co_await now.call.answered;
        sending_ = nullptr;
        expiry_.clear();
        bool const asleep = undoing_ ? conclude_undo(got) : conclude_request(got);
        if (asleep) {
            sleeping_ = true;
            co_await wake_;
            sleeping_ = false;
            sleep_.clear();
        }
    }
    if (std::exchange(subscribed_, false))
        core_.subscriptions().remove(channel_, *this, !others_.is_large());
    contending_ = false;
    keyed_state::unregister();
}

bool permit_queue::conclude_request(answer const& got)
{
    if (got.what != answer::kind::not_now)
        refusals_ = 0;
    switch (got.what) {
    case answer::kind::withdrawn: return false;
    case answer::kind::lost: request_.lost(got.sent); return false;
    case answer::kind::not_now: return sleep(clock::now() + core_.repeat_pause(++refusals_));
    case answer::kind::failed: end_waiters(got.ec); return false;
    case answer::kind::replied: break;
    }
    core_.round_trip().note(clock::now() - got.sent);
    auto const read = protocol_->read(got.value);
    switch (read.what) {
    case permit_reply::kind::granted:
        others_.begin_wait();
        request_.granted(got.sent);
        return false;
    case permit_reply::kind::refused: request_.refused(); return on_refused(read);
    case permit_reply::kind::malformed: break;
    }
    request_.lost(got.sent);
    end_waiters(error::bad_reply);
    return false;
}

bool permit_queue::conclude_undo(answer const& got)
{
    // The undo stays due across a stop of the client, which may run again, and while the server
    // refuses the connection.
    bool const unsent = is_unsent(got);
    if (got.what == answer::kind::lost)
        request_.undo_lost();
    if (got.what == answer::kind::lost || got.what == answer::kind::withdrawn ||
        (unsent && got.ec == error::closed))
        return false;
    if (got.what == answer::kind::not_now || (unsent && !core_.is_stopped()))
        return sleep(clock::now() + core_.repeat_pause(++refusals_));
    if (got.passing) {
        end_waiters(got.ec);
        return sleep(
            clock::now() +
            decide::backoff_pause(first_pause, longest_pause, 2, ++refusals_, core_.jitter())
        );
    }
    if (got.what != answer::kind::replied)
        core_.note_unreleased(
            "of permits of " + name() + ", which may be out for good",
            why_unanswered(got, core_.is_stopped())
        );
    refusals_ = 0;
    request_.closed();
    return false;
}

bool permit_queue::on_refused(permit_reply const& refused)
{
    // The refusal is about the caller that it was requested for. A caller that has become the first
    // since may want less, and a common request may have changed since: then ask again.
    bool const for_all = protocol_->asks_for_all();
    if (!for_all && !queue_.empty() && queue_.front().attempts == 0)
        return false;
    if (refused.subscribers > 0)
        others_.counted(refused.subscribers);
    send_away_who_tried_once();
    if (queue_.empty() || (for_all && queue_.back().attempts == 0))
        return false;
    if (queue_.front().attempts == 1)
        core_.events().waiting(name(), refused.until.value_or(milliseconds{-1}));
    // Messages from before the subscription was live were missed, so ask once more.
    if (!subscribed_) {
        subscribed_ = true;
        channel_ = protocol_->channel();
        if (core_.subscriptions().add(channel_, *this))
            return false;
    }
    // All others know when the next lease ends, too.
    until_ = never;
    if (refused.until && *refused.until < core_.settings().poll_cap)
        until_ = clock::now() + *refused.until +
            others_.spread(1, core_.round_trip().least(), core_.jitter());
    return sleep_out();
}

bool permit_queue::sleep_out()
{
    auto const now = clock::now();
    std::optional<milliseconds> left;
    if (until_ != never)
        left = std::chrono::ceil<milliseconds>(std::max(until_ - now, clock::duration{}));
    return sleep(now + decide::poll_pause(left, core_.settings().poll_cap, core_.jitter()));
}

bool permit_queue::sleep(time_point longest)
{
    auto const at = std::min(longest, heard_);
    if (at <= clock::now())
        wake();
    else
        core_.set_alarm(sleep_, at);
    return true;
}

// The payload of permits is the number that is available. The poll cap counts from now, because
// this message was not lost.
void permit_queue::on_message(std::string_view payload)
{
    std::int64_t room = 0;
    std::from_chars(payload.data(), payload.data() + payload.size(), room);
    auto const now = clock::now();
    auto const delay = others_.heard(room, core_.round_trip().least(), core_.jitter());
    auto const deadline = queue_.empty() ? never : queue_.front().deadline();
    heard_ = decide::crowd::in_time(now, now + delay, deadline, core_.jitter());
    if (sleeping_)
        sleep_out();
}

}  // namespace colock
