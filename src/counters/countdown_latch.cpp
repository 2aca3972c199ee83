#include "core/core.hpp"
#include "core/query.hpp"
#include "counters/queued_operations.hpp"
#include "decide/reply.hpp"
#include <colock/countdown_latch.hpp>

#include <utility>

namespace colock {
inline namespace v0_3 {
namespace detail {

namespace {

/// A request that takes nothing: the first caller asks it for all that are waiting. A caller that
/// comes later may know of a message that the answer does not include yet.
class zero_reached final : public permit_queue::policy {
public:
    zero_reached(core& inside, std::string const& name)
        : policy{inside, name, &decide::latch_channel}
    {}

    void begin(waiter const&) override {}
    script_call::request ask(listed const&) const override
    {
        return {&scripts::count, {name_}, {}};
    }

    decide::acquire_answer read(decide::reply const& got) const override
    {
        using kind = decide::acquire_answer::kind;
        if (got.what != decide::reply::kind::integer)
            return {};
        return {got.number > 0 ? kind::refused : kind::granted, 0, -1};
    }

    time_point open_until(decide::open_request const&, time_point) const override { return never; }
    bool asks_for_all() const noexcept override { return true; }
    bool fits(waiter const& first, decide::open_request const&) const override
    {
        return first.attempts != 0;
    }

    void hand_out(permit_queue& from, time_point) override
    {
        while (!from.is_empty() && from.first().attempts != 0)
            from.take_first()->grant();
    }

    script_call::request undo(std::string const&) override { return ask({}); }
};

}  // namespace

void latch_set(
    core_ptr inside, handler<answered_bool> handler, std::string name, std::int64_t count
)
{
    constexpr std::int64_t most = std::int64_t{1} << 53U;  // the limit of Lua's exact integers
    auto const wrong = check_amount(*inside, name, count, 1, most);
    start_update(
        std::move(inside),
        std::move(handler),
        {std::move(name), scripts::latch_set, count, &decide::latch_channel, false},
        wrong
    );
}

void latch_count_down(core_ptr inside, handler<finished> handler, std::string name)
{
    auto const wrong = check_name(*inside, name);
    start_update(
        std::move(inside),
        std::move(handler),
        {std::move(name), scripts::latch_count_down, 1, &decide::latch_channel, true},
        wrong
    );
}

void latch_remove(core_ptr inside, handler<answered_bool> handler, std::string name)
{
    auto const wrong = check_name(*inside, name);
    start_update(
        std::move(inside),
        std::move(handler),
        {std::move(name), scripts::latch_remove, 0, &decide::latch_channel, false},
        wrong
    );
}

void latch_wait(core_ptr inside, handler<finished> handler, std::string name)
{
    auto const wrong = check_name(*inside, name);
    auto const who =
        make_waiter(std::move(inside), std::move(handler), state_kind::latch, std::move(name));
    start(who, wrong, &enter<zero_reached>);
}

void latch_wait_for(
    core_ptr inside, handler<answered_bool> handler, std::string name, milliseconds wait
)
{
    auto const wrong = check_name(*inside, name);
    auto const who =
        make_waiter(std::move(inside), std::move(handler), state_kind::latch, std::move(name));
    auto const negative = who->limit_to(wait);
    start(who, wrong ? wrong : negative, &enter<zero_reached>);
}

}  // namespace detail
}  // namespace v0_3
}  // namespace colock
