#include "base/recycling.hpp"
#include "core/core.hpp"
#include "core/keyed_state.hpp"
#include "holds/hold_operation.hpp"
#include "holds/hold_state.hpp"
#include "holds/hold_target.hpp"
#include "locks/group_hold.hpp"

#include <boost/asio/bind_executor.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <ranges>
#include <string>
#include <utility>

namespace colock {

namespace {

using status = hold_state::status;

/// The target of such a hold, which watches its parts.
class group_hold final :
    public hold_target,
    public keyed_state,
    public std::enable_shared_from_this<group_hold> {
public:
    group_hold(core& inside, detail::lock_group const& of, std::vector<hold> parts);

    /// Makes the hold for all parts, and watches the parts.
    hold_ptr begin(core_ptr const&, owner const& who, milliseconds lease, bool renewed);

    void release(std::shared_ptr<hold_operation>) override;
    void extend(std::shared_ptr<hold_operation>, milliseconds lease) override;
    void abandon_hold(hold_ptr const&) override;
    unsigned slot() const noexcept override { return 0; }

    // ---- For the core --------------------------------------------------------------------------

    void release_all() override { close(error::closed); }
    void destroy_pending() noexcept override;

    // ---- From any thread -----------------------------------------------------------------------

    time_point valid_until(hold_state const&) const noexcept override;
    std::uint64_t fencing_token(std::size_t i) const noexcept override;
    std::string shown_name() const override { return names_; }

private:
    using outcome = std::function<void(error_code)>;

    /// Not a part that was never acquired: with a majority, others may hold some parts.
    static bool is_won(hold const& part) noexcept;

    /// Applies the operation to all acquired parts. Reports no error if enough succeeded: as soon
    /// as that is clear if a majority is enough, otherwise when all have answered. `over` is called
    /// when all have.
    template <class Act>
    void for_all(Act act, outcome told, std::function<void()> over);
    void on_part_ended(error_code why);
    void close(error_code why);

    std::string names_;
    std::vector<hold> parts_;  ///< in the order of the locks
    bool by_majority_;
    std::size_t needed_;
    std::size_t held_;  ///< acquired parts that have not ended
    bool is_any_lost_ = false;
    std::weak_ptr<hold_state> whole_;
};

group_hold::group_hold(core& inside, detail::lock_group const& of, std::vector<hold> parts)
    : keyed_state{inside, state_kind::group}
    , names_{of.name}
    , parts_{std::move(parts)}
    , by_majority_{of.by_majority}
    , needed_{of.needed()}
    , held_{static_cast<std::size_t>(std::ranges::count_if(parts_, &is_won))}
{}

bool group_hold::is_won(hold const& part) noexcept { return detail::state_of(part) != nullptr; }

hold_ptr group_hold::begin(
    core_ptr const& inside, owner const& who, milliseconds lease, bool renewed
)
{
    auto whole = make_recycled<hold_state>(inside, who, lease, renewed);
    // Tokens of different servers can't be compared, so a majority has none.
    whole->token = by_majority_ || parts_.empty() ? 0 : parts_.front().fencing_token();
    whole->target = shared_from_this();
    whole_ = whole;
    core_.keyed_states().add(shared_from_this());
    for (auto const& part : std::views::filter(parts_, &is_won))
        part.lost(asio::bind_executor(core_.strand(), [weak = weak_from_this()](error_code ec) {
            auto const self = weak.lock();
            if (self && ec != asio::error::operation_aborted)  // which is our own cancellation
                self->on_part_ended(ec);
        }));
    return whole;
}

// Lost, or released by its client, which closes.
void group_hold::on_part_ended(error_code why)
{
    is_any_lost_ = is_any_lost_ || !why;
    --held_;
    auto const whole = whole_.lock();
    if (held_ >= needed_ || !whole || whole->current_status() != status::held)
        return;
    if (is_any_lost_)
        whole->lose();
    else
        close(why);
}

// It is released while its owner still has it. A part may answer after its owner has dropped the
// hold and has destroyed this client.
void group_hold::close(error_code why)
{
    if (auto const whole = whole_.lock())
        whole->mark_released(why);
    for_all(
        [](hold& part, auto handler) { part.release(std::move(handler)); },
        [](error_code) {},
        [life = core_.shared_from_this(), self = shared_from_this()] { self->unregister(); }
    );
}

// A handler that waits for the loss may own the hold itself, and each part keeps its client alive.
void group_hold::destroy_pending() noexcept
{
    if (auto const whole = whole_.lock())
        auto const waits = std::exchange(whole->loss_waits, nullptr);
    auto const parts = std::exchange(parts_, {});
}

/// The answers of the parts to one operation.
struct tally {
    std::size_t unanswered, needed;
    bool by_majority;
    std::function<void(error_code)> told;
    std::function<void()> over;
    std::size_t succeeded = 0;
    error_code first{};

    void count(error_code ec)
    {
        succeeded += !ec;
        if (ec && (!first || (!by_majority && ec == error::lost)))
            first = ec;  // a loss says more than a failed release
        --unanswered;
        bool const is_clear = succeeded >= needed || succeeded + unanswered < needed;
        if (told && (unanswered == 0 || (by_majority && is_clear)))
            std::exchange(told, nullptr)(succeeded >= needed ? error_code{} : first);
        if (unanswered == 0)
            over();
    }
};

template <class Act>
void group_hold::for_all(Act act, outcome told, std::function<void()> over)
{
    auto won = std::views::filter(parts_, &is_won);
    auto const asked = static_cast<std::size_t>(std::ranges::distance(won));
    auto const all =
        std::make_shared<tally>(asked, needed_, by_majority_, std::move(told), std::move(over));
    for (auto& part : won)
        act(part, asio::bind_executor(core_.strand(), [all](error_code ec) { all->count(ec); }));
}

void group_hold::release(std::shared_ptr<hold_operation> who)
{
    auto const whole = who->hold;
    if (whole->current_status() == status::released)
        return who->complete({});
    bool const was_lost = whole->current_status() == status::lost;
    whole->mark_released(asio::error::operation_aborted);
    for_all(
        [](hold& part, auto handler) { part.release(std::move(handler)); },
        [who, was_lost](error_code ec) { who->complete(was_lost ? error_code{error::lost} : ec); },
        [life = core_.shared_from_this(), self = shared_from_this()] { self->unregister(); }
    );
}

void group_hold::extend(std::shared_ptr<hold_operation> who, milliseconds lease)
{
    auto const now = who->hold->current_status();
    if (now != status::held)
        return who->complete(now == status::lost ? error::lost : error::not_held);
    for_all(
        [lease](hold& part, auto handler) { part.extend(lease, std::move(handler)); },
        [who](error_code ec) { who->complete(ec); },
        [self = shared_from_this()] {}
    );
}

void group_hold::abandon_hold(hold_ptr const& whole)
{
    whole->mark_released(asio::error::operation_aborted);
    parts_.clear();  // which releases each in the background
    unregister();
}

time_point group_hold::valid_until(hold_state const&) const noexcept
{
    // The last moment at which enough parts are valid.
    time_point last = never;
    std::size_t passed = 0;
    for (auto const& part : parts_) {
        auto const until = part.valid_until();
        auto const as_long =
            static_cast<std::size_t>(std::ranges::count_if(parts_, [until](hold const& p) {
                return p.valid_until() >= until;
            }));
        if (as_long >= needed_ && (passed++ == 0 || until > last))
            last = until;
    }
    return passed == 0 ? time_point{} : last;
}

std::uint64_t group_hold::fencing_token(std::size_t i) const noexcept
{
    return i < parts_.size() ? parts_[i].fencing_token() : 0;
}

}  // namespace

hold_ptr make_group_hold(
    core_ptr const& inside,
    detail::lock_group const& of,
    std::vector<hold> parts,
    owner const& who,
    milliseconds lease,
    bool renewed
)
{
    return std::make_shared<group_hold>(*inside, of, std::move(parts))
        ->begin(inside, who, lease, renewed);
}

}  // namespace colock
