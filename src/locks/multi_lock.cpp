#include "decide/validity.hpp"
#include "locks/arguments.hpp"
#include "locks/gathering.hpp"
#include <colock/multi_lock.hpp>
#include <colock/red_lock.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/system_executor.hpp>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace colock::detail {

namespace {

using single = lock_operations<lock_id>;

template <class Handler, class Prepare>
void start_gathering(
    core_ptr inside,
    Handler handler,
    lock_group of,
    acquire_options const& options,
    error_code wrong,
    Prepare prepare
)
{
    if (!inside) {  // no part, so no client either
        gathering::result nobody{completion{std::move(handler), asio::system_executor{}}};
        std::visit([](auto& c) { c(error::invalid_argument, {}); }, nobody);
        return;
    }
    auto const& strand = inside->strand();
    auto const who = std::make_shared<gathering>(inside, std::move(of), options);
    who->listen(strand, handler);
    who->done = completion{std::move(handler), inside->executor()};
    prepare(*who);
    asio::dispatch(strand, [who, wrong] {
        if (wrong)
            std::visit([&](auto& c) { c(wrong, {}); }, who->done);
        else
            who->start();
    });
}

/// Asks the same of all parts, and puts the answers together.
template <class Value>
struct survey {
    using combine = Value (*)(lock_group const&, std::vector<Value>&&);

    std::size_t unanswered;
    lock_group of;
    combine together;
    completion<Value> done;
    std::vector<Value> values{};
    error_code first{};

    void take_in(error_code ec, Value value)
    {
        if (!ec)
            values.push_back(std::move(value));
        else if (!first)
            first = ec;
        if (--unanswered != 0)
            return;
        if (values.size() >= of.needed())
            done({}, together(of, std::move(values)));
        else
            done(first, {});
    }

    template <class Ask>
    static void start(
        core_ptr inside,
        typename completion<Value>::handler_type handler,
        lock_group of,
        combine together,
        Ask ask
    )
    {
        if (!inside) {
            completion<Value>{
                std::move(handler), asio::system_executor{}}(error::invalid_argument, {});
            return;
        }
        auto const all = std::make_shared<survey>(
            of.parts.size(), of, together, completion<Value>{std::move(handler), inside->executor()}
        );
        for (auto const& part : all->of.parts)
            ask(part, asio::bind_executor(inside->strand(), [all, inside](error_code ec, Value v) {
                    all->take_in(ec, std::move(v));
                }));
    }
};

bool enough_of(lock_group const& of, std::vector<bool>&& flags)
{
    return static_cast<std::size_t>(std::ranges::count(flags, true)) >= of.needed();
}

bool any_of(lock_group const&, std::vector<bool>&& flags)
{
    return std::ranges::find(flags, true) != flags.end();
}

std::int64_t least_count(lock_group const&, std::vector<std::int64_t>&& counts)
{
    return std::ranges::min(counts);
}

using optional_lease = std::optional<std::chrono::milliseconds>;

/// None if one is free: then so is the whole.
optional_lease least_lease(lock_group const&, std::vector<optional_lease>&& leases)
{
    return std::ranges::min(leases);  // nothing is less than any lease
}

}  // namespace

using group_operations = lock_operations<lock_group>;

void group_operations::acquire(
    core_ptr inside, handler<acquired> handler, lock_group of, acquire_options options
)
{
    auto const wrong = check(of, options);
    start_gathering(
        std::move(inside), std::move(handler), std::move(of), options, wrong, [](gathering&) {}
    );
}

void group_operations::try_acquire(
    core_ptr inside, handler<tried> handler, lock_group of, acquire_options options
)
{
    auto const wrong = check(of, options);
    start_gathering(
        std::move(inside),
        std::move(handler),
        std::move(of),
        options,
        wrong,
        [](gathering& who) { who.once = true; }
    );
}

void group_operations::try_acquire_for(
    core_ptr inside,
    handler<tried> handler,
    lock_group of,
    milliseconds wait,
    acquire_options options
)
{
    if (wait == milliseconds{0})
        return try_acquire(std::move(inside), std::move(handler), std::move(of), options);
    auto const wrong =
        wait < milliseconds{0} ? error_code{error::invalid_argument} : check(of, options);
    start_gathering(
        std::move(inside),
        std::move(handler),
        std::move(of),
        options,
        wrong,
        [wait](gathering& who) { who.wait = std::min(wait, decide::longest_lease); }
    );
}

void group_operations::is_locked(core_ptr inside, handler<answered_bool> handler, lock_group of)
{
    survey<bool>::start(
        std::move(inside),
        std::move(handler),
        std::move(of),
        &enough_of,
        [](lock_group::part const& part, auto told) {
            single::is_locked(part.where, std::move(told), part.id);
        }
    );
}

void group_operations::hold_count(
    core_ptr inside, handler<answered_count> handler, lock_group of, owner who
)
{
    survey<std::int64_t>::start(
        std::move(inside),
        std::move(handler),
        std::move(of),
        &least_count,
        [who](lock_group::part const& part, auto told) {
            single::hold_count(part.where, std::move(told), part.id, who);
        }
    );
}

void group_operations::remaining_lease(
    core_ptr inside, handler<answered_lease> handler, lock_group of
)
{
    survey<optional_lease>::start(
        std::move(inside),
        std::move(handler),
        std::move(of),
        &least_lease,
        [](lock_group::part const& part, auto told) {
            single::remaining_lease(part.where, std::move(told), part.id);
        }
    );
}

void group_operations::force_release(core_ptr inside, handler<answered_bool> handler, lock_group of)
{
    survey<bool>::start(
        std::move(inside),
        std::move(handler),
        std::move(of),
        &any_of,
        [](lock_group::part const& part, auto told) {
            single::force_release(part.where, std::move(told), part.id);
        }
    );
}

}  // namespace colock::detail
