#include "base/completion.hpp"
#include "core/arguments.hpp"
#include "core/core.hpp"
#include "decide/validity.hpp"
#include "locks/group_acquire.hpp"
#include <colock/multi_lock.hpp>
#include <colock/red_lock.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/system_executor.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <utility>

namespace colock {
inline namespace v0_3 {
namespace detail {

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

/// Asks all parts of a group the same, and combines their answers. It completes as soon as there
/// are enough.
template <class Value>
class group_query final : public operation {
public:
    /// The answers of the parts, the greatest first, and the number of missing ones.
    struct answers {
        std::multiset<Value, std::greater<>> values{};
        std::size_t unanswered;
        std::size_t needed;

        /// The greatest value that enough parts reach. Empty while missing answers can change it.
        std::optional<Value> common() const
        {
            if (values.size() < needed)
                return {};
            auto const least = nth(needed - 1);
            bool const is_settled =
                unanswered == 0 || (unanswered < needed && nth(needed - 1 - unanswered) == least);
            return is_settled ? std::optional<Value>{std::in_place, least} : std::nullopt;
        }

        /// The greatest value, when all have answered.
        std::optional<Value> greatest() const
        {
            bool const is_over = unanswered == 0 && values.size() >= needed;
            return is_over ? std::optional<Value>{std::in_place, nth(0)} : std::nullopt;
        }

        Value nth(std::size_t n) const { return *std::next(values.begin(), std::ptrdiff_t(n)); }
    };
    using combine = std::optional<Value> (answers::*)() const;
    using handler_type = typename completion<Value>::handler_type;

    /// Called in the initiating function. `ask` gets a part and the handler of its answer.
    template <class Ask>
    static void start(
        core_ptr const& inside, handler_type handler, lock_group of, combine together, Ask ask
    )
    {
        auto const self =
            std::make_shared<group_query>(inside, of.parts.size(), of.needed(), together);
        auto const& strand = inside->strand();
        self->listen(strand, handler);
        self->done_ = {std::move(handler), inside->executor()};
        asio::dispatch(strand, [self, of = std::move(of), ask] {
            for (std::size_t i = 0; self->done_ && i != of.parts.size(); ++i)
                ask(of.parts[i], self->expect(i, self->inside_->strand()));
        });
    }

    group_query(core_ptr inside, std::size_t parts, std::size_t needed, combine together)
        : inside_{std::move(inside)}
        , signals_{std::make_unique<asio::cancellation_signal[]>(parts)}
        , parts_{parts}
        , got_{{}, parts, needed}
        , together_{together}
    {}

    void cancel() override { complete(asio::error::operation_aborted, {}); }

private:
    auto expect(std::size_t i, strand_type const& strand)
    {
        auto const self = std::static_pointer_cast<group_query>(shared_from_this());
        return asio::bind_executor(
            strand,
            asio::bind_cancellation_slot(
                signals_[i].slot(),
                [self](failure ec, Value value) { self->on_answer(ec, std::move(value)); }
            )
        );
    }

    void on_answer(failure ec, Value value)
    {
        --got_.unanswered;
        if (!ec)
            got_.values.insert(std::move(value));
        else if (!first_)
            first_ = ec;
        if (auto const together = (got_.*together_)())
            complete({}, *together);
        else if (got_.unanswered == 0)
            complete(first_, {});
    }

    void complete(failure ec, Value value)
    {
        if (!done_)
            return;
        done_(ec, std::move(value));
        for (std::size_t i = 0; i != parts_; ++i)
            signals_[i].emit(asio::cancellation_type::terminal);
    }

    core_ptr inside_;  ///< `listen` relies on it
    std::unique_ptr<asio::cancellation_signal[]> signals_;
    std::size_t parts_;
    answers got_;
    combine together_;
    completion<Value> done_;
    failure first_;
};

/// Asks each part by an operation of a single lock, which takes these arguments after the lock.
template <class Value, class Operation, class... Arguments>
void start_group_query(
    core_ptr inside,
    asio::any_completion_handler<void(failure, Value)> handler,
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
    core_ptr inside, handler<acquired<group_hold>> handler, lock_group of, acquire_options options
)
{
    start_group_acquire(std::move(inside), std::move(handler), std::move(of), {}, options);
}

void group_operations::try_acquire_for(
    core_ptr inside,
    handler<tried<group_hold>> handler,
    lock_group of,
    milliseconds wait,
    acquire_options options
)
{
    start_group_acquire(std::move(inside), std::move(handler), std::move(of), wait, options);
}

void group_operations::try_acquire_until(
    core_ptr inside,
    handler<tried<group_hold>> handler,
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

}  // namespace detail
}  // namespace v0_3
}  // namespace colock
