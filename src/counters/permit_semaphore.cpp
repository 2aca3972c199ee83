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

#include <utility>

namespace colock::detail {

namespace {

/// A request takes one permit with its own id, so a repeat finds that id. A permit that nobody
/// wants any more is released by its id.
class id_taken final : public permit_protocol {
public:
    id_taken(core& inside, std::string const& name)
        : core_{inside}
        , name_{name}
        , leases_{decide::permit_leases(name, inside.settings().key_prefix)}
    {}

    std::string channel() const override
    {
        return decide::semaphore_channel(name_, core_.settings().key_prefix);
    }

    void begin(waiter const& first) override
    {
        number_ = core_.next_number();
        id_ = decide::permit_id(core_.uuid(), number_);
        lease_ = first.lease;
    }

    script_request ask() const override
    {
        return {
            &scripts::permit_acquire,
            {name_, leases_},
            {id_, std::to_string(lease_.count()), channel()}};
    }

    decide::acquire_answer read(decide::reply const& got) const override
    {
        return decide::read_permit(got, true);
    }

    // After its lease the permit comes back anyway.
    time_point open_until(decide::request_state const& open) const override
    {
        return open.last_sent() + lease_;
    }

    // A grant is given out only while at least half of its validity is left.
    bool fits(waiter const& first, decide::request_state const& open) const override
    {
        return first.lease == lease_ &&
            (!open.is_taken() || decide::is_fresh(clock::now(), open.last_sent(), lease_));
    }

    void give(permit_queue& from, decide::request_state const& taken) override
    {
        auto const first = from.take_first();
        auto const held = first->make_hold();
        auto const made = make_recycled<ownership>(
            core_, nullptr, protocol::of_permits(), name_, number_, first->who
        );
        made->begin(held, taken.last_sent(), first->lease);
        first->grant(held, decide::hex_of(id_));
    }

    std::optional<script_request> undo(decide::request_state const&) override
    {
        return script_request{&scripts::permit_release, {name_, leases_}, {id_, channel()}};
    }

private:
    core& core_;
    std::string name_;
    std::string leases_;
    std::uint64_t number_ = 0;
    std::string id_;
    milliseconds lease_{};
};

error_code check(std::string const& name, acquire_options const& options) noexcept
{
    auto const least = options.renew ? decide::shortest_renewed_lease : decide::shortest_lease;
    bool const good =
        !options.lease || (*options.lease >= least && *options.lease <= decide::longest_lease);
    return good && options.sync_replicas == 0 && options.at_least == milliseconds{0}
        ? check_name(name)
        : error_code{error::invalid_argument};
}

template <class Handler>
std::shared_ptr<waiter> make_waiter_for(
    core_ptr inside, Handler handler, std::string name, acquire_options const& options
)
{
    return make_waiter(
        std::move(inside),
        std::move(handler),
        state_kind::permit_semaphore,
        std::move(name),
        options
    );
}

}  // namespace

void permit_acquire(
    core_ptr inside,
    asio::any_completion_handler<permitted> handler,
    std::string name,
    acquire_options options
)
{
    auto const wrong = check(name, options);
    auto const who =
        make_waiter_for(std::move(inside), std::move(handler), std::move(name), options);
    start(who, wrong, &enter<id_taken>);
}

void permit_try_acquire_for(
    core_ptr inside,
    asio::any_completion_handler<tried_permit> handler,
    std::string name,
    milliseconds wait,
    acquire_options options
)
{
    auto const wrong = check(name, options);
    auto const who =
        make_waiter_for(std::move(inside), std::move(handler), std::move(name), options);
    auto const negative = who->limit_to(wait);
    start(who, wrong ? wrong : negative, &enter<id_taken>);
}

void permit_set(
    core_ptr inside,
    asio::any_completion_handler<answered_bool> handler,
    std::string name,
    std::int64_t permits
)
{
    semaphore_set(std::move(inside), std::move(handler), std::move(name), permits);
}

void permit_available(
    core_ptr inside, asio::any_completion_handler<answered_count> handler, std::string name
)
{
    auto const wrong = check_name(name);
    auto key = inside->key_of(std::move(name));
    auto const leases = decide::permit_leases(key, inside->settings().key_prefix);
    query<std::int64_t>::start(
        std::move(inside),
        std::move(handler),
        wrong,
        std::move(key),
        scripts::permit_count,
        {},
        &read_count,
        leases
    );
}

}  // namespace colock::detail
