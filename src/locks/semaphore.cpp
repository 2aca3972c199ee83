#include "decide/once.hpp"
#include "decide/reply.hpp"
#include "locks/gated.hpp"
#include "locks/query.hpp"
#include <colock/semaphore.hpp>

#include <utility>

namespace colock::detail {

namespace {

/// A request takes so many permits, and the server keeps its number: sent again, it takes them
/// once. What nobody wants any more is undone by that number.
class permits_taken final : public entry_protocol {
public:
    permits_taken(core& inside, std::string const& name)
        : core_{inside}
        , name_{name}
        , record_{decide::once_record(name, inside.uuid() + ":take", inside.settings().key_prefix)}
    {}

    std::string channel() const override
    {
        return decide::semaphore_channel(name_, core_.settings().key_prefix);
    }

    void begin(guest const& first) override
    {
        number_ = core_.next_number();
        permits_ = static_cast<counting_guest const&>(first).wanted;
    }

    question ask() const override
    {
        return {
            &scripts::semaphore_acquire,
            {name_, record_},
            {std::to_string(permits_),
             std::to_string(number_),
             decide::once_life_text(),
             channel()}};
    }

    admission read(decide::reply const& got) const override
    {
        using reply = decide::reply;
        if (got.what == reply::kind::integer && got.number == 1)
            return {admission::kind::granted};
        auto const no = decide::read_refusal(got);
        if (!no.well_formed)
            return {};
        return {admission::kind::refused, std::nullopt, no.subscribers};
    }

    // While the server still knows whether the request has run.
    time_point open_until(decide::taking const& open) const override
    {
        return open.is_taken() ? never : decide::repeat_until(open.first_sent());
    }

    bool fits(guest const& first, decide::taking const&) const override
    {
        return static_cast<counting_guest const&>(first).wanted == permits_;
    }

    void give(gate& at, decide::taking const&) override
    {
        auto const first = at.pop();
        at.tell_acquired(*first);
        static_cast<counting_guest&>(*first).let_in();
    }

    std::optional<question> undo(decide::taking const&) override
    {
        return question{
            &scripts::semaphore_undo,
            {name_, record_},
            {std::to_string(number_),
             std::to_string(core_.next_number()),
             std::to_string(permits_),
             decide::once_life_text(),
             channel()}};
    }

private:
    core& core_;
    std::string name_;
    std::string record_;
    std::uint64_t number_ = 0;
    std::int64_t permits_ = 0;
};

constexpr char const* semaphore_gate = "semaphore";

}  // namespace

void semaphore_acquire(
    core_ptr inside,
    asio::any_completion_handler<finished> handler,
    std::string name,
    std::int64_t permits
)
{
    auto const wrong = check_amount(name, permits, 1, most_permits);
    enter<permits_taken>(
        make_guest(std::move(inside), std::move(handler), std::move(name), permits),
        semaphore_gate,
        wrong
    );
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
    auto const wrong = check_amount(name, permits, 1, most_permits);
    auto const who = make_guest(std::move(inside), std::move(handler), std::move(name), permits);
    auto const negative = limit_wait(*who, wait);
    enter<permits_taken>(who, semaphore_gate, wrong ? wrong : negative);
}

void semaphore_release(
    core_ptr inside,
    asio::any_completion_handler<finished> handler,
    std::string name,
    std::int64_t permits
)
{
    auto const wrong = check_amount(name, permits, 1, most_permits);
    start_change(
        std::move(inside),
        std::move(handler),
        {std::move(name), scripts::semaphore_release, permits, &decide::semaphore_channel, true},
        wrong
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
    start_change(
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
    start_change(
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
