// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Replies of scripts, from the wire to the answers that locks act on: a cut changes nothing, an
// answer says no more than its reply, and no answer lets anybody wait longer than the poll cap or
// ask at a time in the past.
#include "decide/fair_wait.hpp"
#include "decide/wait_plan.hpp"
#include "fuzz/fuzz.hpp"
#include "redis/call_batch.hpp"
#include "resp/parser.hpp"
#include "resp/pipeline.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace colock::fuzz {

using decide::reply;

namespace {

using std::chrono::milliseconds;

void check_value(reply const& r, unsigned depth, resp::limits const& most)
{
    using kind = reply::kind;
    bool const has_text = r.what == kind::text || r.what == kind::error;
    require(has_text || r.text.empty(), "a text belongs to a text");
    require(r.what == kind::integer || r.number == 0, "a number belongs to an integer");
    require(r.what == kind::list || r.items.empty(), "elements belong to a list");
    require(r.text.size() <= most.message_bytes, "a text is of its message");
    require(r.items.size() <= most.elements, "a list has no more than is allowed");
    require(r.what != kind::list || depth < most.depth, "a list is no deeper than is allowed");
    for (auto const& each : r.items)
        check_value(each, depth + 1, most);
}

constexpr resp::limits small{.depth = 2, .string_bytes = 30, .elements = 6, .message_bytes = 60};

/// Reads them as they come, and as a cable may cut them.
std::vector<reply> parse(std::string_view bytes)
{
    for (auto const& most : {resp::limits{}, small}) {
        auto const whole = read(bytes, bytes.size() + 1, most);
        for (std::size_t const piece : {1, 2, 7})
            require(is_same(read(bytes, piece, most), whole), "a cut changes nothing");
        for (auto const& r : whole.replies)
            check_value(r, 0, most);
    }
    return replies_in(bytes);
}

void check_times(std::int64_t ms)
{
    constexpr milliseconds cap{1'000};
    for (auto const now : {time_point{}, time_point{std::chrono::hours{24 * 365 * 100}}}) {
        auto const wake = decide::wake_time(now, ms, cap);
        require(!wake || (*wake >= now && *wake <= now + cap), "asks before the poll cap");
        for (double const jitter : {0.0, 0.999}) {
            auto const again = decide::look_again(now, ms, cap, jitter);
            require(again >= now && again <= now + cap, "looks again before the poll cap");
            auto const sleep = decide::poll_pause(milliseconds{ms}, cap, jitter);
            require(ms < 0 || (sleep.count() > 0 && sleep <= cap), "sleeps no longer than the cap");
        }
    }
}

void check_answers(reply const& r)
{
    using kind = reply::kind;
    auto const acquire = decide::read_acquire(r);
    auto const block = decide::read_acquire(r, true);
    auto const release = decide::read_release(r);
    auto const extend = decide::read_extend(r);
    auto const keep = decide::read_keep(r);
    auto const inspect = decide::read_inspect(r);
    bool const is_granted = acquire.what == decide::acquire_answer::kind::granted;
    bool const is_refused = acquire.what == decide::acquire_answer::kind::refused;
    require(!is_granted || (r.what == kind::integer && r.number >= 0), "granted by an integer");
    require(!is_granted || acquire.last_token == static_cast<std::uint64_t>(r.number), "a token");
    require(
        block.is_one_token == (r.what == kind::integer && r.number < 0), "one token by a minus sign"
    );
    require(block.is_one_token || block.what == acquire.what, "a block is read alike");
    require(!is_refused || r.what == kind::list, "refused by a list");
    bool const is_unheard =
        r.what == kind::integer && r.number == decide::release_answer::gone_unheard;
    require(
        (release.what == decide::release_answer::kind::gone) == (r.what == kind::nil || is_unheard),
        "gone by nil, or by the number for it"
    );
    require(
        (extend == decide::extend_answer::extended) == (r.what == kind::integer && r.number == 1),
        "extended by 1 alone"
    );
    require(
        keep.what != decide::keep_answer::kind::gone || (r.what == kind::integer && r.number == 0),
        "a place is gone by 0 alone"
    );
    require(
        (keep.what == decide::keep_answer::kind::waits) == (is_refused && r.items.size() == 1),
        "a ticket waits by a refusal of one number"
    );
    require(
        keep.what != decide::keep_answer::kind::waits || keep.ask_in == acquire.pttl,
        "a ticket asks again when a refused acquire does"
    );
    require(!inspect.locked || inspect.well_formed, "held by an answer");
    require(!(inspect.is_read || inspect.is_written) || inspect.well_formed, "a side by an answer");
    check_times(acquire.pttl);
    check_times(inspect.pttl);
}

/// A call for some locks, and what its steps are told.
class answered_call final : private call_batch::listener {
public:
    explicit answered_call(std::size_t count)
    {
        for (std::size_t i = 0; i != count; ++i) {
            auto& s = steps_.emplace_back(scripts::acquire, 0U, keys_, arguments_);
            s.tokens = clock_tokens;
            waiting_.push_back(s);
        }
        batch_->fill(waiting_, {}, line_.out(), {});
        line_.expect(batch_.get(), {});
    }
    answered_call(answered_call const&) = delete;
    answered_call& operator=(answered_call const&) = delete;
    ~answered_call()
    {
        line_.fail(error::closed);
        require(is_over_, "a batch ends");
    }

    void receive(std::string_view bytes)
    {
        while (!bytes.empty()) {
            auto const room = line_.prepare();
            auto const size = std::min(room.size(), bytes.size());
            std::memcpy(room.data(), bytes.data(), size);
            bytes.remove_prefix(size);
            require(!line_.received(size, {}), "what was read once is read again");
        }
    }

    bool is_over() const noexcept { return is_over_; }

    /// In the order of the steps.
    std::vector<reply> parts;

private:
    void on_step(step& s, reply&& part, bool in_company, time_point) override
    {
        require(parts.size() < steps_.size() && &s == &steps_[parts.size()], "steps have an order");
        require(
            !in_company || (part.what == reply::kind::error && steps_.size() != 1),
            "only an error is for all that share a call"
        );
        parts.push_back(std::move(part));
    }
    void on_step_lost(step&, time_point) override { require(false, "no answered step is lost"); }
    void on_batch_over(call_batch&) override
    {
        require(!std::exchange(is_over_, true), "a batch ends once");
    }

    static constexpr std::string_view keys_[]{"key", "counter"};
    static constexpr std::string_view arguments_[]{"field", "100", "1"};
    std::deque<step> steps_;
    step_list waiting_;
    resp::pipeline line_{{}, {}, nullptr};
    std::shared_ptr<call_batch> batch_ =
        std::make_shared<call_batch>(static_cast<call_batch::listener&>(*this));
    bool is_over_ = false;
};

/// A call's steps share its reply: each has its own part, or all have the error.
void check_part(reply const& whole, std::size_t count, std::size_t at, reply const& part)
{
    if (whole.what == reply::kind::list && whole.items.size() == count)
        return require(is_same(part, whole.items[at]), "a step gets its part");
    if (whole.what == reply::kind::error)
        return require(is_same(part, whole), "an error is that of each step");
    require(
        decide::read_acquire(part).what == decide::acquire_answer::kind::malformed,
        "a call without parts grants nothing"
    );
}

void check_parts(reply const& r)
{
    auto const bytes = written(r);
    auto const most = r.items.size() + 2;
    for (std::size_t count = most > 4 ? most - 4 : 1; count <= most; ++count) {
        answered_call call{count};
        call.receive(bytes);
        require(call.is_over() && call.parts.size() == count, "each step has its answer");
        for (std::size_t i = 0; i != count; ++i)
            check_part(r, count, i, call.parts[i]);
    }
}

}  // namespace

void replies(std::string_view bytes);

void replies(std::string_view bytes)
{
    for (auto const& r : parse(bytes)) {
        check_answers(r);
        for (auto const& part : r.items)
            check_answers(part);
        if (r.items.size() <= 32)
            check_parts(r);
        auto const again = replies_in(written(r));
        require(again.size() == 1 && is_same(again.front(), r), "what is written is read again");
    }
}

}  // namespace colock::fuzz
