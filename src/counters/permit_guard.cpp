#include "base/completion.hpp"
#include "core/core.hpp"
#include <colock/with_permits.hpp>

#include <boost/asio/system_executor.hpp>

#include <atomic>
#include <utility>

namespace colock::detail {

/// The debt of a guard: the first caller that takes it out gives the permits back, once.
class owed_permits {
public:
    owed_permits(core_ptr c, std::string n, std::int64_t permits)
        : inside{std::move(c)}
        , name{std::move(n)}
        , owed_{permits}
    {}

    std::int64_t count() const noexcept { return owed_.load(std::memory_order_relaxed); }
    std::int64_t take() noexcept { return owed_.exchange(0, std::memory_order_relaxed); }

    core_ptr const inside;
    std::string const name;

private:
    std::atomic<std::int64_t> owed_;
};

owed_ptr owe_permits(core_ptr inside, std::string name, std::int64_t permits)
{
    return std::make_shared<owed_permits>(std::move(inside), std::move(name), permits);
}

std::int64_t count_owed(owed_ptr const& owed) noexcept { return owed ? owed->count() : 0; }

core_ptr core_of(owed_ptr const& owed) noexcept { return owed ? owed->inside : nullptr; }

// The operation takes the debt when it begins. One that never begins leaves it with the guard.
void give_owed_back(core_ptr inside, asio::any_completion_handler<finished> handler, owed_ptr owed)
{
    auto const permits = owed ? owed->take() : 0;
    if (permits != 0)
        return semaphore_release(std::move(inside), std::move(handler), owed->name, permits);
    if (inside)
        completion<>{std::move(handler), inside->executor()}(error_code{});
    else
        completion<>{std::move(handler), asio::system_executor{}}(error_code{});
}

void give_owed_back(owed_ptr const& owed) noexcept
{
    auto const permits = owed ? owed->take() : 0;
    if (permits == 0)
        return;
    try {
        semaphore_release(
            owed->inside, [](error_code) {}, owed->name, permits
        );
    } catch (std::exception const&) {  // no memory: the permits stay out
    }
}

}  // namespace colock::detail
