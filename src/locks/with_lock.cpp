#include <colock/with_lock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/this_coro.hpp>

#include <utility>

namespace colock::detail {

asio::awaitable<void> run_while_held(hold& held, asio::awaitable<void> work, std::string name)
{
    // Whichever ends first cancels the other, and both have ended before this returns.
    auto const executor = co_await asio::this_coro::executor;
    auto const [order, thrown, loss] =
        co_await asio::experimental::make_parallel_group(
            asio::co_spawn(executor, std::move(work), asio::deferred), held.lost(asio::deferred)
        )
            .async_wait(asio::experimental::wait_for_one(), asio::deferred);
    if (order[0] == 1 && !loss)
        throw boost::system::system_error{error::lost, "with_lock " + name};
    if (thrown)
        std::rethrow_exception(thrown);
}

asio::awaitable<void> release_after_work(hold& held)
{
    co_await held.release(asio::as_tuple(asio::deferred));
}

}  // namespace colock::detail
