#include "counters/permit_wait.hpp"
#include "decide/wait_plan.hpp"

#include <algorithm>
#include <optional>

namespace colock {

namespace {

/// How long the first of the list, at least, lets those ask that the same release may have told.
constexpr clock::duration shortest_permit_pause = milliseconds{1};

}  // namespace

void permit_wait::expect(std::int64_t in)
{
    bool const is_soon = in >= 0 && milliseconds{in} < core_.settings().poll_cap;
    until_ = is_soon ? clock::now() + milliseconds{in} : never;
}

time_point permit_wait::next()
{
    auto const now = clock::now();
    std::optional<milliseconds> left;
    if (until_ != never)
        left = std::chrono::ceil<milliseconds>(std::max(until_ - now, clock::duration{}));
    auto const cap = core_.settings().poll_cap;
    return now +
        decide::poll_pause(
               left, place.stands() ? std::min(cap, decide::longest_unkept) : cap, core_.jitter()
        );
}

// The first of the list is alone with the message. If it is from a client that knows the list,
// others may have been told whose turn it is, and ask first: an attempt in vain would tell even
// more. Many messages do not put the attempt off.
void permit_wait::note_message()
{
    auto const pause = std::max<clock::duration>(core_.round_trip().least(), shortest_permit_pause);
    heard_ = std::min(heard_, clock::now() + (place.stands() ? pause : clock::duration{}));
}

}  // namespace colock
