#include "base/timer.hpp"
#include "core/arguments.hpp"
#include "core/query.hpp"
#include "decide/names.hpp"
#include "holds/hold_state.hpp"
#include "holds/ownership.hpp"
#include <colock/election.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/system_executor.hpp>
#include <boost/asio/this_coro.hpp>

#include <chrono>
#include <string>
#include <utility>

namespace colock {
inline namespace v0_3 {
namespace detail {

namespace {

/// The words need not be renewed with the lease, because only those of the lock's field count.
constexpr milliseconds life_of_words = std::chrono::hours{24 * 30};

constexpr std::size_t most_words = std::size_t{1} << 20U;

failure read_leader(answer const& from, std::optional<leader>& found)
{
    auto const& r = from.value;
    using kind = decide::reply::kind;
    if (r.what == kind::list && r.items.size() == 2) {
        found = leader{static_cast<std::uint64_t>(r.items[0].number), r.items[1].text};
        return {};
    }
    if (r.what != kind::integer)
        return error::bad_reply;
    if (r.number != 0)
        found.emplace();
    return {};
}

failure read_published(answer const& from, bool& done)
{
    if (from.value.what != decide::reply::kind::integer)
        return error::bad_reply;
    done = from.value.number == 1;
    return done ? failure{} : failure{error::lost};
}

}  // namespace

void leader_current(core_ptr inside, handler<seen_leader> handler, std::string name)
{
    auto const wrong = check_name(*inside, name);
    auto key = inside->key_of(std::move(name));
    auto words = decide::leader_words(key, inside->settings().key_prefix);
    script_call::request about{&scripts::leader_read, {std::move(key), std::move(words)}, {}};
    query<std::optional<leader>>::start(
        std::move(inside), std::move(handler), wrong, std::move(about), &read_leader
    );
}

void leader_publish(core_ptr inside, handler<finished> handler, hold_ptr state, std::string words)
{
    if (!state)
        return completion<>{std::move(handler), asio::system_executor{}}(error::not_held);
    auto wrong = valid_if(words.size() <= most_words);
    if (!wrong && state->current_status() != hold_state::status::held)
        wrong = error::lost;
    auto& held = static_cast<ownership&>(*state->target);
    held.speak();
    auto const& name = held.name();
    script_call::request about{
        &scripts::leader_publish,
        {name, decide::leader_words(name, inside->settings().key_prefix)},
        {inside->field(held.number()),
         std::to_string(state->token),
         std::move(words),
         std::to_string(life_of_words.count())}};
    auto const executor = asio::get_associated_executor(handler, inside->executor());
    auto const slot = asio::get_associated_cancellation_slot(handler);
    auto told = [to = std::move(handler)](failure ec, bool) mutable { std::move(to)(ec); };
    query<bool>::start(
        std::move(inside),
        asio::bind_cancellation_slot(slot, asio::bind_executor(executor, std::move(told))),
        wrong,
        std::move(about),
        &read_published
    );
}

asio::awaitable<void> wait_to_look(core_ptr inside)
{
    asio::any_io_executor const executor = co_await asio::this_coro::executor;
    timer_type pause{strand_type{executor}};
    pause.expires_at(clock::now() + inside->settings().poll_cap);
    co_await pause.async_wait(asio::deferred);
}

bool may_stand_again(error_code ec) noexcept
{
    return ec == error::lost || ec == condition::retryable;
}

}  // namespace detail
}  // namespace v0_3
}  // namespace colock

namespace colock {

asio::awaitable<leadership> election::campaign_for(
    lock office, acquire_options options, std::string words
)
{
    leadership mine{co_await office.acquire(options)};
    co_await mine.publish(std::move(words));
    co_return mine;
}

asio::awaitable<std::optional<leader>> election::answered(election self)
{
    for (;;) {
        try {
            co_return co_await self.current();
        } catch (boost::system::system_error const& e) {
            if (e.code() != condition::retryable)
                throw;
        }
        co_await detail::wait_to_look(self.core_);
    }
}

asio::awaitable<std::optional<leader>> election::next_after(
    election self, std::optional<leader> seen
)
{
    for (;;) {
        auto now = co_await answered(self);
        if (now != seen)
            co_return now;
        co_await detail::wait_to_look(self.core_);
    }
}

}  // namespace colock
