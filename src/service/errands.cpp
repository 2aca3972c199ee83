#include "decide/names.hpp"
#include "decide/once.hpp"
#include "service/core.hpp"
#include "service/errands.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace colock {

namespace {

constexpr milliseconds pause_before_repeat{20};

/// What can be added up.
bool is_sum(scripts::script const& what) noexcept
{
    return &what == &scripts::semaphore_release || &what == &scripts::latch_count_down;
}

}  // namespace

errand::errand(core_ptr c, std::string n, scripts::script const& s, std::int64_t a, std::string ch)
    : inside{std::move(c)}
    , name{std::move(n)}
    , what{s}
    , amount{a}
    , channel{std::move(ch)}
    , limit{[this] {
        auto const why = inside->transport().down_reason(decide::slot_of(name));
        finish(why ? why : error_code{error::unavailable}, 0);
    }}
{}

void errand::cancel() { finish(asio::error::operation_aborted, 0); }

void errand::finish(error_code ec, std::int64_t result)
{
    auto const life = shared_from_this();
    limit.clear();
    if (auto const told = std::exchange(done, nullptr))
        told(ec, result);
}

/// One or several errands as one step.
struct errands::change {
    std::uint64_t number = 0;
    std::int64_t amount = 0;
    time_point first_sent{};
    bool unsure = false;  ///< an answer was lost
    std::vector<std::shared_ptr<errand>> of;
};

errands::errands(core& inside, std::string known_as, std::string name)
    : resident{inside, std::move(known_as), decide::slot_of(name)}
    , name_{std::move(name)}
    , record_{decide::once_record(name_, inside.uuid() + ":change")}
    , expiry_{[this] {
        if (sending_ && core_.transport().withdraw(*sending_))
            sending_->answered.set({});
    }}
{
    ++core_.count.keys;
}

errands::~errands() { --core_.count.keys; }

void errands::add(std::shared_ptr<errand> who)
{
    if (who->done)
        core_.set_alarm(who->limit, clock::now() + core_.settings().timeout);
    if (who->owed)
        ++core_.count.owed_releases;
    waiting_.push_back(std::move(who));
    if (!running_)
        run();
}

void errands::take_next(change& next)
{
    next = {};
    next.number = core_.next_number();
    auto const& first = waiting_.front()->what;
    auto const end = is_sum(first)
        ? std::ranges::find_if(waiting_, [&](auto const& e) { return &e->what != &first; })
        : waiting_.begin() + 1;
    next.of.assign(waiting_.begin(), end);
    waiting_.erase(waiting_.begin(), end);
    for (auto const& each : next.of)
        next.amount += each->amount;
}

// Whom nobody waits for any more, and who is owed to nobody.
void errands::drop_unwanted()
{
    std::erase_if(waiting_, [](auto const& e) { return !e->done && !e->owed; });
}

question errands::step_of(change const& what) const
{
    auto const& any = *what.of.front();
    return {
        &any.what,
        {name_, record_},
        {std::to_string(what.amount),
         std::to_string(what.number),
         decide::once_life_text(),
         any.channel}};
}

sequence errands::run()
{
    running_ = true;
    change now;
    for (drop_unwanted(); !now.of.empty() || !waiting_.empty(); drop_unwanted()) {
        if (now.of.empty())
            take_next(now);
        asked_question asked{step_of(now), slot()};
        if (now.unsure)
            core_.set_alarm(expiry_, decide::repeat_until(now.first_sent));
        sending_ = &asked.call;
        core_.transport().submit(asked.call);
        answer const got = co_await asked.call.answered;
        sending_ = nullptr;
        expiry_.clear();
        if (is_to_be_repeated(got, now)) {
            if (got.what == answer::kind::lost && !std::exchange(now.unsure, true))
                now.first_sent = got.sent;
            if (got.what != answer::kind::lost) {
                core_.rest(pause_, pause_before_repeat);
                co_await pause_.over;
            }
            continue;
        }
        conclude(now, got);
    }
    running_ = false;
    leave();
}

bool errands::is_to_be_repeated(answer const& got, change const& what) const noexcept
{
    bool const wanted =
        std::ranges::any_of(what.of, [](auto const& e) { return e->owed || e->done; });
    bool const known = !what.unsure || clock::now() < decide::repeat_until(what.first_sent);
    if (core_.is_stopped() || !wanted || !known)
        return false;
    bool const owed = std::ranges::any_of(what.of, [](auto const& e) { return e->owed; });
    return got.what == answer::kind::lost || got.what == answer::kind::not_now ||
        (is_unsent(got) && owed);
}

void errands::conclude(change& what, answer const& got)
{
    error_code ec;
    if (got.what != answer::kind::replied)
        ec = why_unanswered(got, core_.is_stopped());
    else if (got.value.what != decide::reply::kind::integer)
        ec = error::bad_reply;
    for (auto const& each : std::exchange(what.of, {})) {
        if (each->owed) {
            --core_.count.owed_releases;
            if (ec)
                core_.note_unreleased();
        }
        each->finish(ec, got.value.number);
    }
}

void errands::abandon() noexcept
{
    for (auto const& each : std::exchange(waiting_, {})) {
        each->limit.clear();
        each->done = nullptr;
    }
}

}  // namespace colock
