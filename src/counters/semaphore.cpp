#include "core/core.hpp"
#include "core/query.hpp"
#include "counters/queued_operations.hpp"
#include "decide/idempotency.hpp"
#include "decide/reply.hpp"
#include <colock/semaphore.hpp>

#include <utility>

namespace colock::detail {

namespace {

/// A request takes some permits, and the server keeps its number, so a repeat takes them only once.
/// A request that nobody wants any more is undone by its number.
class permits_taken final : public permit_protocol {
public:
    permits_taken(core& inside, std::string const& name)
        : core_{inside}
        , name_{name}
        , record_{
              decide::request_record(name, inside.uuid() + ":take", inside.settings().key_prefix)}
    {}

    std::string channel() const override
    {
        return decide::semaphore_channel(name_, core_.settings().key_prefix);
    }

    void begin(permit_request const& first) override
    {
        number_ = core_.next_number();
        permits_ = static_cast<permit_count_request const&>(first).wanted;
    }

    script_request ask() const override
    {
        return {
            &scripts::semaphore_acquire,
            {name_, record_},
            {std::to_string(permits_),
             std::to_string(number_),
             decide::record_life_text(),
             channel()}};
    }

    permit_reply read(decide::reply const& got) const override
    {
        using reply = decide::reply;
        if (got.what == reply::kind::integer && got.number == 1)
            return {permit_reply::kind::granted};
        auto const no = decide::read_refusal(got);
        if (!no.well_formed)
            return {};
        return {permit_reply::kind::refused, std::nullopt, no.subscribers};
    }

    // As long as the server still knows whether the request has run.
    time_point open_until(decide::request_state const& open) const override
    {
        return open.is_taken() ? never : decide::repeat_until(open.first_sent());
    }

    bool fits(permit_request const& first, decide::request_state const&) const override
    {
        return static_cast<permit_count_request const&>(first).wanted == permits_;
    }

    void give(permit_queue& from, decide::request_state const&) override
    {
        auto const first = from.pop();
        from.tell_acquired(*first);
        static_cast<permit_count_request&>(*first).grant();
    }

    std::optional<script_request> undo(decide::request_state const&) override
    {
        return script_request{
            &scripts::semaphore_undo,
            {name_, record_},
            {std::to_string(number_),
             std::to_string(core_.next_number()),
             std::to_string(permits_),
             decide::record_life_text(),
             channel()}};
    }

private:
    core& core_;
    std::string name_;
    std::string record_;
    std::uint64_t number_ = 0;
    std::int64_t permits_ = 0;
};

// Zero permits are there at once, as in Redisson. Nothing is sent for them.
void grant_nothing(std::shared_ptr<permit_count_request> const& who, error_code wrong)
{
    asio::dispatch(who->inside->strand(), [who, wrong] {
        if (auto const ec = wrong ? wrong : who->inside->enter())
            who->complete(ec);
        else
            who->grant();
    });
}

void enter_for_permits(std::shared_ptr<permit_count_request> const& who, error_code wrong)
{
    if (who->wanted == 0)
        grant_nothing(who, wrong);
    else
        enter<permits_taken>(who, state_kind::semaphore, wrong);
}

/// Adds up, whatever the sign.
void change_permits(
    core_ptr inside,
    asio::any_completion_handler<finished> handler,
    std::string name,
    std::int64_t permits,
    std::int64_t least
)
{
    auto const wrong = check_amount(name, permits, least, most_permits);
    if (permits == 0)
        return grant_nothing(
            make_permit_count_request(std::move(inside), std::move(handler), std::move(name), 0),
            wrong
        );
    start_update(
        std::move(inside),
        std::move(handler),
        {std::move(name), scripts::semaphore_release, permits, &decide::semaphore_channel, true},
        wrong
    );
}

}  // namespace

void semaphore_acquire(
    core_ptr inside,
    asio::any_completion_handler<finished> handler,
    std::string name,
    std::int64_t permits
)
{
    auto const wrong = check_amount(name, permits, 0, most_permits);
    auto const who =
        make_permit_count_request(std::move(inside), std::move(handler), std::move(name), permits);
    enter_for_permits(who, wrong);
}

void semaphore_try_acquire(
    core_ptr inside,
    asio::any_completion_handler<answered_bool> handler,
    std::string name,
    std::int64_t permits
)
{
    semaphore_try_acquire_for(
        std::move(inside), std::move(handler), std::move(name), milliseconds{0}, permits
    );
}

void semaphore_try_acquire_for(
    core_ptr inside,
    asio::any_completion_handler<answered_bool> handler,
    std::string name,
    milliseconds wait,
    std::int64_t permits
)
{
    auto const wrong = check_amount(name, permits, 0, most_permits);
    auto const who =
        make_permit_count_request(std::move(inside), std::move(handler), std::move(name), permits);
    auto const negative = limit_wait(*who, wait);
    enter_for_permits(who, wrong ? wrong : negative);
}

void semaphore_release(
    core_ptr inside,
    asio::any_completion_handler<finished> handler,
    std::string name,
    std::int64_t permits
)
{
    change_permits(std::move(inside), std::move(handler), std::move(name), permits, 0);
}

void semaphore_add(
    core_ptr inside,
    asio::any_completion_handler<finished> handler,
    std::string name,
    std::int64_t permits
)
{
    change_permits(std::move(inside), std::move(handler), std::move(name), permits, -most_permits);
}

void semaphore_release_existing(
    core_ptr inside,
    asio::any_completion_handler<answered_bool> handler,
    std::string name,
    std::int64_t permits
)
{
    auto const wrong = check_amount(name, permits, 1, most_permits);
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

void semaphore_set_expiring(
    core_ptr inside,
    asio::any_completion_handler<answered_bool> handler,
    std::string name,
    std::int64_t permits,
    milliseconds life
)
{
    bool const lasts = life >= milliseconds{1} && life <= decide::longest_lease;
    auto const wrong = check_amount(name, permits, 0, most_permits);
    start_update(
        std::move(inside),
        std::move(handler),
        {std::move(name),
         scripts::semaphore_set,
         permits,
         &decide::semaphore_channel,
         false,
         std::to_string(permits) + ':' + std::to_string(life.count())},
        wrong ? wrong : valid_if(lasts)
    );
}

void semaphore_set(
    core_ptr inside,
    asio::any_completion_handler<answered_bool> handler,
    std::string name,
    std::int64_t permits
)
{
    auto const wrong = check_amount(name, permits, 0, most_permits);
    start_update(
        std::move(inside),
        std::move(handler),
        {std::move(name), scripts::semaphore_set, permits, &decide::semaphore_channel, false},
        wrong
    );
}

void semaphore_drain(
    core_ptr inside, asio::any_completion_handler<answered_count> handler, std::string name
)
{
    auto const wrong = check_name(name);
    start_update(
        std::move(inside),
        std::move(handler),
        {std::move(name), scripts::semaphore_drain, 0, nullptr, false},
        wrong
    );
}

void semaphore_available(
    core_ptr inside, asio::any_completion_handler<answered_count> handler, std::string name
)
{
    auto const wrong = check_name(name);
    auto key = inside->key_of(std::move(name));
    query<std::int64_t>::start(
        std::move(inside),
        std::move(handler),
        wrong,
        std::move(key),
        scripts::count,
        {},
        &read_count
    );
}

}  // namespace colock::detail
