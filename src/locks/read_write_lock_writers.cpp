#include "core/core.hpp"
#include "locks/read_write_lock.hpp"

#include <algorithm>
#include <utility>

namespace colock {

namespace {

/// How long the head alone tries to get in between the readers of others, at least. Redisson's
/// clients have had some ten turns by then.
constexpr milliseconds least_head_start{2};

}  // namespace

writers* writers::find(core& inside, std::string_view name) noexcept
{
    return static_cast<writers*>(exclusive_lock::find(inside, lock_kind::write, name));
}

std::shared_ptr<readers> writers::beside() const { return readers::find(core_, name()); }

bool writers::is_taken() const noexcept
{
    auto const beside_us = beside();
    bool const is_read =
        beside_us && (beside_us->is_reading() || beside_us->wait_queue::is_taken());
    return is_read || exclusive_lock::is_taken();
}

bool writers::has_one_before(waiter const& reader) const noexcept
{
    return head() && head()->arrival < reader.arrival && reader.arrival > passed_;
}

void writers::let_pass_in_time()
{
    if (let_pass_.is_set())
        return;
    // The last reader's release, and the head's own script.
    auto const two_scripts = 2 * core_.round_trip().usual();
    auto const head_start = std::max<clock::duration>(two_scripts, least_head_start);
    core_.set_alarm(
        let_pass_, clock::now() + std::min<clock::duration>(head_start, core_.settings().poll_cap)
    );
}

// If other clients keep our writer out, it does not hold back local readers. A writer without a
// live subscription asks once more first.
void writers::let_pass()
{
    auto const life = shared_from_this();  // asking may end the last waiter
    auto const r = beside();
    if (!r || !head() || held() || r->has_readers() || r->is_closed())
        return;
    if (!std::exchange(has_asked_, true) && ask_unless_told())
        return head() ? let_pass_in_time() : void();
    has_asked_ = false;
    passed_ = core_.last_arrival();
    r->look_again();
}

bool writers::stands_behind(waiter const& who) const
{
    auto const r = beside();
    return r && r->has_one_before(who);
}

// The owner that wrote may go on reading. Then its field and number stay with it, so the next
// writer needs another number.
bool writers::may_go_on(ownership const& held) const
{
    auto const r = beside();
    return !r || !((head() && r->has_one_before(*head())) || r->with_number(held.number()));
}

void writers::on_queue_changed()
{
    if (auto const r = beside())
        r->look_again();
}

// A writer's field is gone only if the whole hash is gone, and with it the writer's read side.
void writers::ended(ownership& which)
{
    auto const r = beside();
    if (auto* const reads = r && which.is_gone() ? r->with_number(which.number()) : nullptr)
        reads->suspect();
    exclusive_lock::ended(which);
}

}  // namespace colock
