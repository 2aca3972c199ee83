#include "base/recycling.hpp"
#include "core/core.hpp"
#include "core/keyed_state.hpp"
#include "core/with_words.hpp"
#include "holds/hold_operation.hpp"
#include "holds/hold_state.hpp"
#include "holds/hold_target.hpp"
#include "locks/group_hold.hpp"
#include "locks/quorum_steps.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/container/small_vector.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <ranges>
#include <string>
#include <utility>
#include <vector>

namespace colock {

namespace {

using status = hold_state::status;

class group_target;

/// Makes one part of a red lock count that does not: it takes the part if somebody else had it or
/// if it is lost, raises its counter to the token, and waits until its server votes. It takes no
/// part before most servers have said that theirs are there, because somebody may have forced the
/// lock.
class healer {
public:
    healer(group_target& whose, std::size_t part) noexcept : of_{whose}, i_{part} {}

    /// Begins, after this pause. It ends when the part counts, or when the group no longer stands.
    strand_task run(milliseconds pause);
    bool is_running() const noexcept { return is_running_; }

    /// Ends a pause, and with it the run if the group no longer stands.
    void wake() { pause_.finish(); }

private:
    struct raised {
        failure ec;
        decide::raise_answer answer;
    };

    void confirm();
    void on_confirmed(std::size_t other, failure&, decide::raise_answer const&);
    void take();
    void raise();
    milliseconds judge(raised const&);
    milliseconds usual_pause() const noexcept;

    group_target& of_;
    std::size_t i_;
    bool is_running_ = false;
    event<bool> confirmed_;
    event<hold> taken_;
    event<raised> raised_;
    core::pause pause_;
};

/// The target of such a hold, which watches its parts.
class group_target final :
    public hold_target,
    public keyed_state,
    public std::enable_shared_from_this<group_target> {
public:
    group_target(core& inside, detail::lock_group const& of, std::uint64_t token, acquire_options const&);

    /// Comes before `begin`, for each part in the order of the locks.
    void add(hold got, bool counts) { parts_.push_back({std::move(got), counts}); }

    /// Makes the hold for all parts, and watches the parts.
    hold_ptr begin(core_ptr const&);

    void release(std::shared_ptr<hold_operation>) override;
    void extend(std::shared_ptr<hold_operation>, milliseconds lease) override;
    void abandon_hold(hold_ptr const&) override;
    unsigned slot() const noexcept override { return 0; }

    // ---- For the core --------------------------------------------------------------------------

    void on_reached() override { heal_all(); }
    void release_all() override { close(error::closed); }
    void destroy_pending() noexcept override;

    // ---- From any thread -----------------------------------------------------------------------

    time_point valid_until(hold_state const&) const noexcept override;
    std::optional<unsigned> replicas() const noexcept override;
    std::uint64_t fencing_token(std::size_t i) const noexcept override;
    bool has_one_server() const noexcept override { return of_.has_one_client(); }
    std::string_view shown_name() const noexcept override { return of_.name; }

private:
    friend healer;

    struct member {
        hold got;     ///< none: with a majority, others may have it
        bool counts;  ///< towards those that the group needs
        bool is_lost = false;
    };
    using outcome = std::function<void(failure)>;

    /// Not a part that was never acquired: with a majority, others may hold some parts.
    static bool is_won(member const& p) noexcept { return detail::state_of(p.got) != nullptr; }

    /// Applies the operation to all acquired parts. Reports no error if enough succeeded: as soon
    /// as that is clear if a majority is enough, otherwise when all have answered. `over` is called
    /// when all have. Of a majority those parts decide that count, because the hold is of these.
    template <class Act>
    void for_all(Act act, outcome told, std::function<void()> over);

    std::size_t counting() const noexcept
    {
        return static_cast<std::size_t>(std::ranges::count_if(parts_, &member::counts));
    }

    /// So many parts count, and are valid, as it needs.
    bool stands() const noexcept;

    /// A part that does not count may come to count. Not once the hold has ended: it would stand
    /// for a time in which somebody else may have had the lock.
    bool may_heal() const noexcept
    {
        auto const whole = whole_.lock();
        return of_.by_majority && stands() && !core_.is_stopped() &&
            whole->is_renewed(clock::now(), core_.settings().max_hold);
    }
    bool is_renewed() const noexcept { return !options_.lease || options_.renew; }
    milliseconds lease_of(std::size_t i) const noexcept
    {
        return options_.lease.value_or(of_.parts[i].where->settings().lease);
    }

    bool has(std::size_t i) const noexcept { return bool{parts_[i].got}; }
    void heal_all();
    void heal(std::size_t i, milliseconds pause);
    void put(std::size_t i, hold got);
    void count(std::size_t i);

    /// The counter of the part has reached the token, which owners get who enter the part again.
    void enter_with_token(std::size_t i);
    void watch(std::size_t i);
    void on_part_ended(std::size_t i, failure why);
    void close(failure why);
    void leave();

    detail::lock_group of_;
    acquire_options options_;
    std::uint64_t token_;
    mutable std::mutex change_;  ///< of the parts, at which any thread may look
    std::vector<member> parts_;
    std::vector<std::unique_ptr<healer>> healers_;
    std::weak_ptr<hold_state> whole_;
};

group_target::group_target(
    core& inside, detail::lock_group const& of, std::uint64_t token, acquire_options const& options
)
    : keyed_state{inside, state_kind::group}
    , of_{of}
    , options_{options}
    , token_{token}
{}

hold_ptr group_target::begin(core_ptr const& inside)
{
    auto whole = make_recycled<hold_state>(inside, *options_.as, lease_of(0), is_renewed());
    whole->token = token_;
    whole->born = clock::now();
    whole->target = shared_from_this();
    whole_ = whole;
    core_.keyed_states().add(shared_from_this());
    for (std::size_t i = 0; i != parts_.size(); ++i) {
        if (is_won(parts_[i]))
            watch(i);
        if (of_.by_majority && parts_[i].counts)
            enter_with_token(i);
    }
    heal_all();
    return whole;
}

void group_target::watch(std::size_t i)
{
    auto& part = parts_[i].got;
    part.lost(asio::bind_executor(
        core_.strand(),
        [weak = weak_from_this(), i, which = std::weak_ptr{detail::state_of(part)}](failure ec) {
            auto const self = weak.lock();
            // Aborted: it is our own cancellation. And another hold may have taken its place.
            if (self && ec != asio::error::operation_aborted && i < self->parts_.size() &&
                detail::state_of(self->parts_[i].got) == which.lock())
                self->on_part_ended(i, ec);
        }
    ));
}

// Lost, or released by its client, which closes.
void group_target::on_part_ended(std::size_t i, failure why)
{
    parts_[i].is_lost = !why;
    {
        std::lock_guard const changing{change_};
        parts_[i].counts = false;
    }
    auto const whole = whole_.lock();
    if (!whole || whole->current_status() != status::held)
        return;
    if (counting() < of_.needed())
        return std::ranges::any_of(parts_, &member::is_lost) ? whole->lose() : close(why);
    if (parts_[i].is_lost)  // its field may still be there, and would keep the healer out
        parts_[i].got.release([](failure) {});
    heal(i, {});
}

// It is released while its owner still has it. A part may answer after its owner has dropped the
// hold and has destroyed this client.
void group_target::close(failure why)
{
    if (auto const whole = whole_.lock())
        whole->mark_released(why);
    for_all(
        [](hold& part, auto handler) { part.release(std::move(handler)); },
        [](failure) {},
        [life = core_.shared_from_this(), self = shared_from_this()] { self->leave(); }
    );
}

// From now on the last owner may destroy this on any thread, so nothing of it may be linked into
// the client.
void group_target::leave()
{
    for (auto const& each : healers_)
        if (each)
            each->wake();
    unregister();
}

// A handler that waits for the loss may own the hold itself. Each part, and each lock by which it
// would be taken again, keeps its client alive.
void group_target::destroy_pending() noexcept
{
    for (auto& part : of_.parts)
        part.where.reset();
    if (auto const whole = whole_.lock())
        auto const waits = std::exchange(whole->loss_waits, nullptr);
    auto const healing = std::exchange(healers_, {});
    std::vector<member> parts;
    std::lock_guard const changing{change_};
    parts_.swap(parts);
}

// ---- Healing -----------------------------------------------------------------------------------

bool group_target::stands() const noexcept
{
    auto const whole = whole_.lock();
    auto const valid =
        std::ranges::count_if(parts_, [](auto const& p) { return p.counts && bool{p.got}; });
    return whole && whole->current_status() == status::held &&
        std::cmp_greater_equal(valid, of_.needed());
}

// A part that others have stays theirs for a while.
void group_target::heal_all()
{
    for (std::size_t i = 0; i != parts_.size(); ++i)
        if (!parts_[i].counts)
            heal(i, has(i) ? milliseconds{0} : lease_of(i) / 3);
}

void group_target::heal(std::size_t i, milliseconds pause)
{
    if (!may_heal())
        return;
    healers_.resize(parts_.size());
    auto& healing = healers_[i];
    if (!healing)
        healing = std::make_unique<healer>(*this, i);
    if (!healing->is_running())
        healing->run(pause);
    else if (pause == milliseconds{0})
        healing->wake();
}

void group_target::put(std::size_t i, hold got)
{
    {
        std::lock_guard const changing{change_};
        std::swap(parts_[i].got, got);
    }
    parts_[i].is_lost = false;
    if (auto const whole = whole_.lock())
        set_birth(of_.parts[i], parts_[i].got, whole->born);
    watch(i);
}

void group_target::count(std::size_t i)
{
    {
        std::lock_guard const changing{change_};
        parts_[i].counts = true;
    }
    enter_with_token(i);
}

void group_target::enter_with_token(std::size_t i)
{
    if (token_ != 0)
        set_token(of_.parts[i], parts_[i].got, token_);
}

/// The answers of the parts to one operation.
struct tally {
    std::size_t unanswered;
    std::size_t open;  ///< of these those that decide
    std::size_t needed;
    bool by_majority;
    std::function<void(failure)> told;
    std::function<void()> over;
    std::size_t succeeded = 0;
    failure first{};

    void count(failure ec, bool decides = true)
    {
        --unanswered;
        if (decides) {
            --open;
            succeeded += !ec;
            if (ec && (!first || (!by_majority && ec == error::lost)))
                first = ec;  // a loss says more than a failed release
        }
        bool const is_clear = succeeded >= needed || succeeded + open < needed;
        if (told && (open == 0 || (by_majority && is_clear)))
            std::exchange(told, nullptr)(succeeded >= needed ? failure{} : first);
        if (unanswered == 0)
            over();
    }
};

// Each pass asks the server once, or if it has to take the part again, the others and then it
// twice.
strand_task healer::run(milliseconds pause)
{
    is_running_ = true;
    do {
        of_.core_.rest(pause_, pause);
        co_await pause_.over;
        pause = usual_pause();
        if (of_.may_heal() && !of_.has(i_)) {
            confirm();
            if (co_await confirmed_ && of_.may_heal()) {
                auto const lease = of_.lease_of(i_);
                take();
                if (hold got = co_await taken_; got && of_.may_heal()) {
                    if (of_.lease_of(i_) != lease)  // its owner has extended the others meanwhile
                        got.extend(of_.lease_of(i_), [](failure) {});
                    of_.put(i_, std::move(got));
                }
            }
        }
        if (of_.may_heal() && of_.has(i_)) {
            raise();
            pause = judge(co_await raised_);
        }
    } while (of_.may_heal() && !of_.parts_[i_].counts);
    is_running_ = false;
}

milliseconds healer::usual_pause() const noexcept
{
    constexpr milliseconds shortest{100};
    return std::max(of_.lease_of(i_) / 3, shortest);
}

void healer::confirm()
{
    auto const all = std::make_shared<tally>(
        of_.counting(),
        of_.counting(),
        of_.of_.needed(),
        true,
        [weak = of_.weak_from_this(), this](failure ec) {
            if (auto const life = weak.lock())
                confirmed_.set(!ec);
        },
        [] {}
    );
    for (std::size_t other = 0; other != of_.parts_.size(); ++other)
        if (of_.parts_[other].counts)
            raise_token(
                of_.of_.parts[other],
                of_.parts_[other].got,
                of_.token_,
                asio::bind_executor(
                    of_.core_.strand(),
                    [weak = of_.weak_from_this(), this, all, other](
                        failure ec, decide::raise_answer const& got
                    ) {
                        if (auto const life = weak.lock())
                            on_confirmed(other, ec, got);
                        all->count(ec);
                    }
                )
            );
}

// A part that is gone learns of it by a renewal.
void healer::on_confirmed(std::size_t other, failure& ec, decide::raise_answer const& got)
{
    if (ec || got.is_there())
        return;
    ec = error::lost;
    if (of_.stands() && of_.has(other))
        confirm_part(of_.of_.parts[other], of_.parts_[other].got);
}

void healer::take()
{
    auto const& [where, id] = of_.of_.parts[i_];
    detail::lock_operations<detail::lock_id>::try_acquire_for(
        where,
        asio::bind_executor(
            of_.core_.strand(),
            [weak = of_.weak_from_this(), this](failure, if_acquired<hold> got) {
                if (auto const life = weak.lock())
                    taken_.set(got ? std::move(*got) : hold{});
            }
        ),
        id,
        milliseconds{0},
        of_.options_
    );
}

void healer::raise()
{
    raise_token(
        of_.of_.parts[i_],
        of_.parts_[i_].got,
        of_.token_,
        asio::bind_executor(
            of_.core_.strand(),
            [weak = of_.weak_from_this(), this](failure ec, decide::raise_answer const& got) {
                if (auto const life = weak.lock())
                    raised_.set({ec, got});
            }
        )
    );
}

/// Counts the part if it can. Returns how long to wait before the server is asked again.
milliseconds healer::judge(raised const& got)
{
    if (!of_.has(i_))  // lost meanwhile: it is taken again at once
        return {};
    if (got.ec || !of_.may_heal())
        return usual_pause();
    auto const& [reached, behind, up, received] = got.answer;
    if (behind != std::chrono::microseconds{0})
        return std::min(usual_pause(), std::chrono::ceil<milliseconds>(behind));
    if (reached == 0) {  // it is gone, and learns of it by a renewal
        confirm_part(of_.of_.parts[i_], of_.parts_[i_].got);
        return usual_pause();
    }
    auto const now = clock::now();
    auto const votes = decide::votes_from(got.answer, votes_after(of_.of_, i_, of_.lease_of(i_)));
    if (votes > now)
        return std::min(usual_pause(), std::chrono::ceil<milliseconds>(votes - now));
    of_.count(i_);
    return {};
}

template <class Act>
void group_target::for_all(Act act, outcome told, std::function<void()> over)
{
    auto won = std::views::filter(parts_, &is_won);
    bool const all_decide = !of_.by_majority || counting() < of_.needed();
    auto const decides = [&](member const& part) { return all_decide || part.counts; };
    auto const all = std::make_shared<tally>(
        static_cast<std::size_t>(std::ranges::distance(won)),
        static_cast<std::size_t>(std::ranges::count_if(won, decides)),
        of_.needed(),
        of_.by_majority,
        std::move(told),
        std::move(over)
    );
    for (auto& part : won)
        act(part.got,
            with_words(core_.strand(), [all, decides = decides(part)](failure const& why) {
                all->count(why, decides);
            }));
}

void group_target::release(std::shared_ptr<hold_operation> who)
{
    auto const whole = who->hold;
    if (whole->current_status() == status::released)
        return who->complete({});
    bool const was_lost = whole->current_status() == status::lost;
    whole->mark_released(asio::error::operation_aborted);
    for_all(
        [](hold& part, auto handler) { part.release(std::move(handler)); },
        [who, was_lost](failure ec) { who->complete(was_lost ? failure{error::lost} : ec); },
        [life = core_.shared_from_this(), self = shared_from_this()] { self->leave(); }
    );
}

void group_target::extend(std::shared_ptr<hold_operation> who, milliseconds lease)
{
    auto const now = who->hold->current_status();
    if (now != status::held)
        return who->complete(now == status::lost ? error::lost : error::not_held);
    options_.lease = lease;  // a part that is taken again gets the same
    options_.renew = who->hold->renewed;
    for_all(
        [lease](hold& part, auto handler) { part.extend(lease, std::move(handler)); },
        [who](failure ec) { who->complete(ec); },
        [self = shared_from_this()] {}
    );
}

void group_target::abandon_hold(hold_ptr const& whole)
{
    whole->mark_released(asio::error::operation_aborted);
    parts_.clear();  // which releases each in the background
    leave();
}

// The last moment at which enough parts are valid.
time_point group_target::valid_until(hold_state const&) const noexcept
{
    std::lock_guard const looking{change_};
    boost::container::small_vector<time_point, 8> all;
    for (auto const& part : parts_)
        if (part.counts)
            all.push_back(detail::state_of(part.got)->valid_until());
    if (all.size() < of_.needed() || all.empty())
        return {};
    auto const at = all.begin() + static_cast<std::ptrdiff_t>(of_.needed() - 1);
    std::ranges::nth_element(all, at, std::ranges::greater{});
    return *at;
}

// The fewest of those that count.
std::optional<unsigned> group_target::replicas() const noexcept
{
    std::lock_guard const looking{change_};
    std::optional<unsigned> fewest;
    for (auto const& part : parts_)
        if (part.counts)
            fewest = std::min(fewest.value_or(part.got.replicas()), part.got.replicas());
    return fewest.value_or(0);
}

std::uint64_t group_target::fencing_token(std::size_t i) const noexcept
{
    std::lock_guard const looking{change_};
    return i < parts_.size() ? parts_[i].got.fencing_token() : 0;
}

}  // namespace

hold_ptr make_group_hold(
    core_ptr const& inside,
    detail::lock_group const& of,
    std::vector<hold> parts,
    std::vector<decide::quorum_part> const& known,
    std::uint64_t token,
    acquire_options const& options
)
{
    auto const made = std::make_shared<group_target>(*inside, of, token, options);
    for (std::size_t i = 0; i != parts.size(); ++i)
        made->add(std::move(parts[i]), !of.by_majority || known[i].counts(token, clock::now()));
    return made->begin(inside);
}

}  // namespace colock
