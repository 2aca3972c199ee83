#include "core/core.hpp"
#include "core/query.hpp"
#include "counters/queued_operations.hpp"
#include "decide/idempotency.hpp"
#include "decide/reply.hpp"
#include <colock/semaphore.hpp>

#include <utility>

namespace colock {
inline namespace v0_3 {
namespace detail {

namespace {

/// A request takes some permits, and the server keeps its number, so a repeat takes them only once.
/// A request that nobody wants any more is undone by its number.
class permits_taken final : public permit_queue::policy {
public:
    permits_taken(core& inside, std::string const& name)
        : policy{inside, name, &decide::semaphore_channel}
        , record_{
              decide::request_record(name, inside.uuid() + ":take", inside.settings().key_prefix)}
    {}

    void begin(waiter const& first) override
    {
        number_ = core_.next_number();
        permits_ = first.permits;
    }

    std::uint64_t number() const noexcept override { return number_; }
    std::int64_t wanted() const noexcept override { return permits_; }

    script_call::request ask(listed const& place) const override
    {
        return {
            &scripts::semaphore_acquire,
            {name_, record_},
            {std::to_string(permits_),
             std::to_string(number_),
             decide::record_life_text(),
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

    // As long as the server still knows whether the request has run.
    time_point open_until(decide::open_request const& open, time_point sent) const override
    {
        return open.is_open() ? open.until() : decide::repeat_until(sent);
    }

    bool may_be_out_for_good() const noexcept override { return true; }

    bool fits(waiter const& first, decide::open_request const&) const override
    {
        return first.permits == permits_;
    }

    void hand_out(permit_queue& from, time_point) override
    {
        auto const first = from.take_first();
        first->tell_acquired();
        first->grant();
    }

    script_call::request undo(std::string const& entry) override
    {
        return script_call::request{
            &scripts::semaphore_undo,
            {name_, record_},
            {std::to_string(number_),
             std::to_string(core_.next_number()),
             std::to_string(permits_),
             decide::record_life_text(),
             channel(),
             list(),
             box(),
             entry}};
    }

private:
    std::string record_;
    std::uint64_t number_ = 0;
    std::int64_t permits_ = 0;
};

template <class Handler>
std::shared_ptr<waiter> make_waiter_for(
    core_ptr inside,
    Handler handler,
    std::string name,
    std::int64_t permits,
    std::optional<std::int64_t> limit = {}
)
{
    auto who =
        make_waiter(std::move(inside), std::move(handler), state_kind::semaphore, std::move(name));
    who->permits = permits;
    who->total = limit.value_or(0);
    return who;
}

// Zero permits are there at once, as in Redisson. Nothing is sent for them.
void enter_for_permits(std::shared_ptr<waiter> const& who)
{
    if (who->permits == 0)
        who->grant();
    else
        enter<permits_taken>(who);
}

}  // namespace

void semaphore_acquire(
    core_ptr inside,
    handler<finished> handler,
    std::string name,
    std::optional<std::int64_t> limit,
    std::int64_t permits
)
{
    auto const wrong = check_permits(*inside, name, permits, 0, limit);
    auto const who =
        make_waiter_for(std::move(inside), std::move(handler), std::move(name), permits, limit);
    start(who, wrong, &enter_for_permits);
}

void semaphore_try_acquire_for(
    core_ptr inside,
    handler<answered_bool> handler,
    std::string name,
    std::optional<std::int64_t> limit,
    milliseconds wait,
    std::int64_t permits
)
{
    auto const wrong = check_permits(*inside, name, permits, 0, limit);
    auto const who =
        make_waiter_for(std::move(inside), std::move(handler), std::move(name), permits, limit);
    auto const negative = who->limit_to(wait);
    start(who, wrong ? wrong : negative, &enter_for_permits);
}

void semaphore_change(
    core_ptr inside,
    handler<finished> handler,
    std::string name,
    permits_change how,
    std::int64_t permits
)
{
    auto const least = how == permits_change::add ? -most_permits : 0;
    auto const wrong = check_amount(*inside, name, permits, least, most_permits);
    if (permits == 0) {
        auto const who = make_waiter_for(std::move(inside), std::move(handler), std::move(name), 0);
        return start(who, wrong, &enter_for_permits);
    }
    start_update(
        std::move(inside),
        std::move(handler),
        {std::move(name),
         how == permits_change::give_if_there ? scripts::semaphore_release_existing
                                              : scripts::semaphore_release,
         permits,
         &decide::semaphore_channel,
         true},
        wrong
    );
}

void semaphore_release_existing(
    core_ptr inside, handler<answered_bool> handler, std::string name, std::int64_t permits
)
{
    auto const wrong = check_amount(*inside, name, permits, 1, most_permits);
    start_update(
        std::move(inside),
        std::move(handler),
        {std::move(name),
         scripts::semaphore_release_existing,
         permits,
         &decide::semaphore_channel,
         true},
        wrong
    );
}

void semaphore_set(
    core_ptr inside,
    handler<answered_bool> handler,
    std::string name,
    std::int64_t permits,
    std::optional<milliseconds> life
)
{
    bool const lasts = !life || (*life >= milliseconds{1} && *life <= decide::longest_lease);
    auto const wrong = check_amount(*inside, name, permits, 0, most_permits);
    auto text = life ? std::to_string(permits) + ':' + std::to_string(life->count()) : "";
    start_update(
        std::move(inside),
        std::move(handler),
        {std::move(name),
         scripts::semaphore_set,
         permits,
         &decide::semaphore_channel,
         false,
         std::move(text)},
        wrong ? wrong : valid_if(lasts)
    );
}

void semaphore_drain(core_ptr inside, handler<answered_count> handler, std::string name)
{
    auto const wrong = check_name(*inside, name);
    start_update(
        std::move(inside),
        std::move(handler),
        {std::move(name), scripts::semaphore_drain, 0, nullptr, false},
        wrong
    );
}

void read_counter(core_ptr inside, handler<answered_count> handler, std::string name)
{
    auto const wrong = check_name(*inside, name);
    auto key = inside->key_of(std::move(name));
    query<std::int64_t>::
        start(std::move(inside), std::move(handler), wrong, {&scripts::count, {std::move(key)}, {}}, &read_number<std::int64_t>);
}

}  // namespace detail
}  // namespace v0_3
}  // namespace colock
