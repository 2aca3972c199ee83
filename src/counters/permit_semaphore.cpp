#include "base/recycling.hpp"
#include "core/core.hpp"
#include "core/query.hpp"
#include "counters/queued_operations.hpp"
#include "decide/permit_id.hpp"
#include "decide/reply.hpp"
#include "decide/validity.hpp"
#include "holds/ownership.hpp"
#include <colock/permit_semaphore.hpp>
#include <colock/semaphore.hpp>

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

namespace colock {
inline namespace v0_3 {
namespace detail {

namespace {

/// A script takes so many permits in one step without trouble.
constexpr std::int64_t most_at_once = 1'000;

/// A request takes permits with ids of their own, so a repeat finds those ids. Permits that nobody
/// wants any more are released by their ids.
class ids_taken final : public permit_queue::policy {
public:
    ids_taken(core& inside, std::string const& name)
        : policy{inside, name, &decide::semaphore_channel}
        , leases_{decide::permit_leases(name, inside.settings().key_prefix)}
    {}

    void begin(waiter const& first) override
    {
        permits_ = first.permits;
        lease_ = first.lease;
        ids_.clear();
        for (std::int64_t i = 0; i != permits_; ++i) {
            auto const number = core_.next_number();
            if (i == 0)
                first_number_ = number;
            ids_ += decide::permit_id(core_.uuid(), number);
        }
    }

    std::uint64_t number() const noexcept override { return first_number_; }
    std::int64_t wanted() const noexcept override { return permits_; }

    script_call::request ask(listed const& place) const override
    {
        return {
            &scripts::permit_acquire,
            {name_, leases_},
            {ids_,
             std::to_string(lease_.count()),
             channel(),
             list(),
             box(),
             place.since,
             place.entry,
             total_ == 0 ? std::string{} : std::to_string(total_)}};
    }

    decide::acquire_answer read(decide::reply const& got) const override
    {
        return decide::read_permit(got);
    }

    // After their lease, which begins when the server runs the script, the permits come back
    // anyway.
    time_point open_until(decide::open_request const&, time_point) const override
    {
        return clock::now() + lease_;
    }

    // A grant is given out only while at least half of its validity is left.
    bool fits(waiter const& first, decide::open_request const& open) const override
    {
        return first.lease == lease_ && first.permits == permits_ &&
            (!open.is_taken() ||
             decide::is_fresh(clock::now(), open.sent(), lease_, clock::resumed()));
    }

    void hand_out(permit_queue& from, time_point sent) override
    {
        auto const first = from.take_first();
        std::vector<waiter::held_permit> permits;
        for (std::int64_t i = 0; i != permits_; ++i) {
            auto const number = first_number_ + static_cast<std::uint64_t>(i);
            auto held = first->make_hold();
            auto const made = make_recycled<ownership>(
                core_, nullptr, lock_traits::of_permits(), name_, number, first->who
            );
            made->begin(held, {sent, first->lease, first->lease, {}, from.replicas()});
            permits.push_back(
                {std::move(held), decide::hex_of(decide::permit_id(core_.uuid(), number))}
            );
        }
        first->grant(permits);
    }

    script_call::request undo(std::string const& entry) override
    {
        return script_call::request{
            &scripts::permit_release, {name_, leases_}, {box(), ids_, channel(), list(), entry}};
    }

private:
    std::string leases_;
    std::int64_t permits_ = 0;
    std::uint64_t first_number_ = 0;  ///< of the ownerships, which count on from here
    std::string ids_;                 ///< one after the other
    milliseconds lease_{};
};

failure check(
    core const& inside,
    std::string const& name,
    std::int64_t permits,
    std::optional<std::int64_t> limit,
    acquire_options const& options
) noexcept
{
    bool const good = permits <= most_at_once && !check_lease(options) && !check_copies(options);
    return good && options.at_least == milliseconds{0}
        ? check_permits(inside, name, permits, 1, limit)
        : failure{error::invalid_argument};
}

template <class Value>
void take(
    core_ptr inside,
    asio::any_completion_handler<void(failure, Value)> handler,
    std::string name,
    std::int64_t permits,
    std::optional<std::int64_t> limit,
    std::optional<milliseconds> wait,
    acquire_options const& options
)
{
    auto wrong = check(*inside, name, permits, limit, options);
    auto const who = make_waiter(
        std::move(inside),
        std::move(handler),
        state_kind::permit_semaphore,
        std::move(name),
        options
    );
    who->permits = permits;
    who->total = limit.value_or(0);
    if (wait)
        if (auto const negative = who->limit_to(*wait); !wrong)
            wrong = negative;
    start(who, wrong, &enter<ids_taken>);
}

/// The ids as the scripts have them, one after the other; empty if one of them is no id, or if one
/// comes twice.
std::string joined(std::vector<std::string> const& ids)
{
    std::set<std::string> seen;
    std::string all;
    for (auto const& each : ids) {
        auto const bytes = decide::permit_bytes(each);
        if (!bytes || !seen.insert(*bytes).second)
            return {};
        all += *bytes;
    }
    return all;
}

}  // namespace

void permit_acquire(
    core_ptr inside,
    handler<permitted> handler,
    std::string name,
    std::optional<std::int64_t> limit,
    acquire_options options
)
{
    take(std::move(inside), std::move(handler), std::move(name), 1, limit, {}, options);
}

void permit_try_acquire_for(
    core_ptr inside,
    handler<tried_permit> handler,
    std::string name,
    std::optional<std::int64_t> limit,
    milliseconds wait,
    acquire_options options
)
{
    take(std::move(inside), std::move(handler), std::move(name), 1, limit, wait, options);
}

void permit_acquire_many(
    core_ptr inside,
    handler<permitted_many> handler,
    std::string name,
    std::optional<std::int64_t> limit,
    std::int64_t permits,
    acquire_options options
)
{
    take(std::move(inside), std::move(handler), std::move(name), permits, limit, {}, options);
}

void permit_try_acquire_many_for(
    core_ptr inside,
    handler<permitted_many> handler,
    std::string name,
    std::optional<std::int64_t> limit,
    milliseconds wait,
    std::int64_t permits,
    acquire_options options
)
{
    take(std::move(inside), std::move(handler), std::move(name), permits, limit, wait, options);
}

void permit_return(
    core_ptr inside,
    handler<answered_bool> handler,
    std::string name,
    std::vector<std::string> const& ids
)
{
    auto text = joined(ids);
    bool const good = !text.empty() && ids.size() <= most_at_once;
    auto const wrong = good ? check_name(*inside, name) : failure{error::invalid_argument};
    start_update(
        std::move(inside),
        std::move(handler),
        {std::move(name),
         scripts::permit_return,
         std::ssize(ids),
         &decide::semaphore_channel,
         true,
         std::move(text),
         true},
        wrong
    );
}

void permit_extend(
    core_ptr inside,
    handler<answered_bool> handler,
    std::string name,
    std::string const& id,
    milliseconds lease
)
{
    auto bytes = decide::permit_bytes(id);
    bool const good = bytes && lease >= decide::shortest_lease && lease <= decide::longest_lease;
    auto const wrong = good ? check_name(*inside, name) : failure{error::invalid_argument};
    auto const key = inside->key_of(std::move(name));
    auto const read = [](answer const& got, bool& was_out) -> failure {
        auto const outcome = decide::read_extend(got.value);
        was_out = outcome == decide::extend_answer::extended;
        return outcome == decide::extend_answer::malformed ? failure{error::bad_reply} : failure{};
    };
    script_call::request about{
        &scripts::permit_extend,
        {decide::permit_leases(key, inside->settings().key_prefix)},
        {bytes.value_or(""), std::to_string(lease.count())}};
    about.wants = decide::copies{inside->settings().durability};
    query<bool>::start(std::move(inside), std::move(handler), wrong, std::move(about), read);
}

void permit_change(
    core_ptr inside, handler<finished> handler, std::string name, std::int64_t permits
)
{
    auto const wrong = check_amount(*inside, name, permits, 0, most_permits);
    start_update(
        std::move(inside),
        std::move(handler),
        {std::move(name),
         scripts::permit_set,
         permits,
         &decide::semaphore_channel,
         false,
         {},
         true},
        wrong
    );
}

void permit_remove(core_ptr inside, handler<answered_bool> handler, std::string name)
{
    auto const wrong = check_name(*inside, name);
    start_update(
        std::move(inside),
        std::move(handler),
        {std::move(name), scripts::permit_remove, 0, &decide::semaphore_channel, false, {}, true},
        wrong
    );
}

void permit_count(
    core_ptr inside, handler<answered_count> handler, std::string name, permits_counted which
)
{
    auto const wrong = check_name(*inside, name);
    auto key = inside->key_of(std::move(name));
    auto leases = decide::permit_leases(key, inside->settings().key_prefix);
    auto const read = [which](answer const& got, std::int64_t& count) -> failure {
        auto const& items = got.value.items;
        auto const is_number = [](decide::reply const& item) {
            return item.what == decide::reply::kind::integer;
        };
        if (items.size() != 2 || !std::ranges::all_of(items, is_number))
            return error::bad_reply;
        auto const available = items[0].number, out = items[1].number;
        count = which == permits_counted::available ? available
            : which == permits_counted::out         ? out
                                                    : available + out;
        return {};
    };
    query<std::int64_t>::start(
        std::move(inside),
        std::move(handler),
        wrong,
        {&scripts::permit_count, {std::move(key), std::move(leases)}, {}},
        read
    );
}

}  // namespace detail
}  // namespace v0_3
}  // namespace colock
