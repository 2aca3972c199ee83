#include "core/arguments.hpp"
#include "core/core.hpp"
#include "decide/validity.hpp"
#include "locks/group_acquire.hpp"
#include "locks/group_query.hpp"
#include <colock/multi_lock.hpp>
#include <colock/red_lock.hpp>

#include <boost/asio/system_executor.hpp>

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

namespace colock::detail {

namespace {

using single = lock_operations<lock_id>;

template <class Handler>
void start_group_acquire(
    core_ptr inside,
    Handler handler,
    lock_group of,
    std::optional<milliseconds> wait,
    acquire_options const& options
)
{
    if (!inside) {  // no part, so no client either
        group_acquire::result nobody{completion{std::move(handler), asio::system_executor{}}};
        std::visit([](auto& c) { c(error::invalid_argument, {}); }, nobody);
        return;
    }
    auto const wrong =
        wait && *wait < milliseconds{0} ? error::invalid_argument : check(of, options);
    auto const& strand = inside->strand();
    auto const who = std::make_shared<group_acquire>(inside, std::move(of), options);
    who->listen(strand, handler);
    who->done = completion{std::move(handler), inside->executor()};
    who->once = wait == milliseconds{0};
    if (wait && !who->once)
        who->wait = std::min(*wait, decide::longest_lease);
    asio::dispatch(strand, [who, wrong] {
        if (wrong)
            std::visit([&](auto& c) { c(wrong, {}); }, who->done);
        else
            who->start();
    });
}

/// Asks each part by an operation of a single lock, which takes these arguments after the lock.
template <class Value, class Operation, class... Arguments>
void start_group_query(
    core_ptr inside,
    asio::any_completion_handler<void(error_code, Value)> handler,
    lock_group of,
    typename group_query<Value>::combine together,
    Operation operation,
    Arguments... arguments
)
{
    auto const ask = [operation, arguments...](lock_group::part const& part, auto told) {
        operation(part.where, std::move(told), part.id, arguments...);
    };
    if (inside)
        group_query<Value>::start(inside, std::move(handler), std::move(of), together, ask);
    else
        completion<Value>{std::move(handler), asio::system_executor{}}(error::invalid_argument, {});
}

using optional_lease = std::optional<std::chrono::milliseconds>;  // none: less than any

}  // namespace

using group_operations = lock_operations<lock_group>;

void group_operations::acquire(
    core_ptr inside, handler<acquired> handler, lock_group of, acquire_options options
)
{
    start_group_acquire(std::move(inside), std::move(handler), std::move(of), {}, options);
}

void group_operations::try_acquire_for(
    core_ptr inside,
    handler<tried> handler,
    lock_group of,
    milliseconds wait,
    acquire_options options
)
{
    start_group_acquire(std::move(inside), std::move(handler), std::move(of), wait, options);
}

void group_operations::try_acquire_until(
    core_ptr inside,
    handler<tried> handler,
    lock_group of,
    time_point until,
    acquire_options options
)
{
    auto const wait = wait_until(until);
    try_acquire_for(std::move(inside), std::move(handler), std::move(of), wait, options);
}

void group_operations::is_locked(core_ptr inside, handler<answered_bool> handler, lock_group of)
{
    start_group_query<bool>(
        std::move(inside),
        std::move(handler),
        std::move(of),
        &group_query<bool>::answers::common,
        &single::is_locked
    );
}

void group_operations::hold_count(
    core_ptr inside, handler<answered_count> handler, lock_group of, owner who
)
{
    start_group_query<std::int64_t>(
        std::move(inside),
        std::move(handler),
        std::move(of),
        &group_query<std::int64_t>::answers::common,
        &single::hold_count,
        who
    );
}

void group_operations::remaining_lease(
    core_ptr inside, handler<answered_lease> handler, lock_group of
)
{
    start_group_query<optional_lease>(
        std::move(inside),
        std::move(handler),
        std::move(of),
        &group_query<optional_lease>::answers::common,
        &single::remaining_lease
    );
}

void group_operations::force_release(core_ptr inside, handler<answered_bool> handler, lock_group of)
{
    start_group_query<bool>(
        std::move(inside),
        std::move(handler),
        std::move(of),
        &group_query<bool>::answers::greatest,
        &single::force_release
    );
}

}  // namespace colock::detail
