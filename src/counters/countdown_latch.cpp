#include "core/core.hpp"
#include "core/query.hpp"
#include "counters/queued_operations.hpp"
#include "decide/reply.hpp"
#include <colock/countdown_latch.hpp>

#include <limits>
#include <utility>

namespace colock::detail {

namespace {

/// A request that takes nothing: the first caller asks it for all that are waiting. A caller that
/// comes later may know of a message that the answer does not include yet.
class zero_reached final : public permit_protocol {
public:
    zero_reached(core& inside, std::string const& name) : core_{inside}, name_{name} {}

    std::string channel() const override
    {
        return decide::latch_channel(name_, core_.settings().key_prefix);
    }
    void begin(permit_request const&) override {}
    script_request ask() const override { return {&scripts::count, {name_}, {}}; }

    permit_reply read(decide::reply const& got) const override
    {
        if (got.what != decide::reply::kind::integer)
            return {};
        return {got.number > 0 ? permit_reply::kind::refused : permit_reply::kind::granted};
    }

    time_point open_until(decide::request_state const&) const override { return never; }
    bool asks_for_all() const noexcept override { return true; }
    bool fits(permit_request const& first, decide::request_state const&) const override
    {
        return first.attempts != 0;
    }

    void give(permit_queue& from, decide::request_state const&) override
    {
        while (!from.is_empty() && from.first().attempts != 0)
            static_cast<permit_count_request&>(*from.pop()).grant();
    }

    std::optional<script_request> undo(decide::request_state const&) override { return {}; }

private:
    core& core_;
    std::string name_;
};

}  // namespace

void latch_set(
    core_ptr inside,
    asio::any_completion_handler<answered_bool> handler,
    std::string name,
    std::int64_t count
)
{
    constexpr std::int64_t most = std::int64_t{1} << 53U;  // the limit of Lua's exact integers
    auto const wrong = check_amount(name, count, 1, most);
    start_update(
        std::move(inside),
        std::move(handler),
        {std::move(name), scripts::latch_set, count, &decide::latch_channel, false},
        wrong
    );
}

void latch_count_down(
    core_ptr inside, asio::any_completion_handler<finished> handler, std::string name
)
{
    auto const wrong = check_name(name);
    start_update(
        std::move(inside),
        std::move(handler),
        {std::move(name), scripts::latch_count_down, 1, &decide::latch_channel, true},
        wrong
    );
}

void latch_remove(
    core_ptr inside, asio::any_completion_handler<answered_bool> handler, std::string name
)
{
    auto const wrong = check_name(name);
    start_update(
        std::move(inside),
        std::move(handler),
        {std::move(name), scripts::latch_remove, 0, &decide::latch_channel, false},
        wrong
    );
}

void latch_wait(core_ptr inside, asio::any_completion_handler<finished> handler, std::string name)
{
    auto const wrong = check_name(name);
    enter<zero_reached>(
        make_permit_count_request(std::move(inside), std::move(handler), std::move(name), 0),
        state_kind::latch,
        wrong
    );
}

void latch_wait_for(
    core_ptr inside,
    asio::any_completion_handler<answered_bool> handler,
    std::string name,
    milliseconds wait
)
{
    auto const wrong = check_name(name);
    auto const who =
        make_permit_count_request(std::move(inside), std::move(handler), std::move(name), 0);
    auto const negative = limit_wait(*who, wait);
    enter<zero_reached>(who, state_kind::latch, wrong ? wrong : negative);
}

void latch_count(
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
