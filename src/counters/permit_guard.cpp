#include "base/completion.hpp"
#include "core/core.hpp"
#include <colock/with_permits.hpp>

#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/system_executor.hpp>

#include <atomic>
#include <utility>

namespace colock {
inline namespace v0_3 {
namespace detail {

/// The debt of a guard: the first caller that takes it out gives the permits back, once. Closing
/// waits until that has begun, or the guard has gone.
class owed_permits {
public:
    owed_permits(core_ptr c, std::string n, std::int64_t permits)
        : inside{std::move(c)}
        , name{std::move(n)}
        , owed_{permits}
    {
        ++inside->count.guards;
    }
    owed_permits(owed_permits const&) = delete;
    owed_permits& operator=(owed_permits const&) = delete;
    ~owed_permits() { end(); }

    std::int64_t count() const noexcept { return owed_.load(std::memory_order_relaxed); }
    std::int64_t take() noexcept { return owed_.exchange(0, std::memory_order_relaxed); }
    void owe(std::int64_t permits) noexcept { owed_.store(permits, std::memory_order_relaxed); }

    /// Nothing of it is left to give back. A release that has begun reaches the strand before this.
    void end() noexcept
    {
        if (!is_counted_.exchange(false) || inside->is_shut_down())
            return;
        try {
            asio::dispatch(inside->strand(), [life = inside] {
                --life->count.guards;
                life->on_less();
            });
        } catch (std::exception const&) {  // no memory: closing waits for its time limit
        }
    }

    core_ptr const inside;
    std::string const name;

private:
    std::atomic<std::int64_t> owed_;
    std::atomic<bool> is_counted_ = true;
};

namespace {

/// The permits came from a semaphore, so one that is gone in the meantime is not made again.
void give_back(owed_permits& from, std::int64_t permits, handler<finished> handler)
{
    auto const executor = asio::get_associated_executor(handler, from.inside->executor());
    auto const slot = asio::get_associated_cancellation_slot(handler);
    auto told = [to = std::move(handler)](failure ec, bool) mutable { std::move(to)(ec); };
    semaphore_release_existing(
        from.inside,
        asio::bind_cancellation_slot(slot, asio::bind_executor(executor, std::move(told))),
        from.name,
        permits
    );
    from.end();
}

}  // namespace

short_name name_of_owed(owed_ptr const& owed) noexcept
{
    return owed ? short_name{owed->name} : short_name{};
}

owed_ptr owe_permits(core_ptr inside, std::string name, std::int64_t permits)
{
    return std::make_shared<owed_permits>(std::move(inside), std::move(name), permits);
}

std::int64_t count_owed(owed_ptr const& owed) noexcept { return owed ? owed->count() : 0; }

void owe(owed_ptr const& owed, std::int64_t permits) noexcept { owed->owe(permits); }

core_ptr core_of(owed_ptr const& owed) noexcept { return owed ? owed->inside : nullptr; }

// The operation takes the debt when it begins. One that never begins leaves it with the guard.
void give_owed_back(core_ptr inside, handler<finished> handler, owed_ptr owed)
{
    auto const permits = owed ? owed->take() : 0;
    if (permits != 0)
        return give_back(*owed, permits, std::move(handler));
    if (inside)
        completion<>{std::move(handler), inside->executor()}(failure{});
    else
        completion<>{std::move(handler), asio::system_executor{}}(failure{});
}

void give_owed_back(owed_ptr const& owed) noexcept
{
    auto const permits = owed ? owed->take() : 0;
    if (permits == 0)
        return;
    try {
        give_back(*owed, permits, [](failure) {});
    } catch (std::exception const&) {  // no memory: the permits stay out
    }
}

}  // namespace detail
}  // namespace v0_3
}  // namespace colock
