#include "client/client_state.hpp"
#include "client/stats.hpp"
#include "core/core.hpp"
#include "core/query.hpp"
#include <colock/client.hpp>

#include <boost/asio/system_executor.hpp>

#include <utility>

namespace colock {

inline namespace v0_3 {
namespace detail {

namespace {

/// `run` or `close` under way.
struct client_operation final : operation {
    client_operation(core_ptr c, void (*on_cancel)(client_operation&))
        : inside{std::move(c)}
        , act{on_cancel}
    {}
    void cancel() override { act(*this); }

    core_ptr inside;
    completion<> done;
    void (*act)(client_operation&);
};

}  // namespace

asio::any_io_executor executor_of(core_ptr const& inside) noexcept
{
    return inside ? inside->executor() : asio::any_io_executor{asio::system_executor{}};
}

std::shared_ptr<std::string const> server_of(core_ptr const& inside) noexcept
{
    return inside ? inside->server() : nullptr;
}

void client_run(core_ptr inside, completion<>::handler_type handler)
{
    auto const run = std::make_shared<client_operation>(inside, [](client_operation& self) {
        client_state::of(*self.inside).cancel_run(self.shared_from_this());
    });
    run->listen(inside->strand(), handler);
    run->done = {std::move(handler), inside->executor()};
    asio::dispatch(inside->strand(), [run] {
        client_state::of(*run->inside).run(run, std::move(run->done));
    });
}

void client_close(core_ptr inside, completion<>::handler_type handler)
{
    auto const close = std::make_shared<client_operation>(inside, [](client_operation& self) {
        client_state::of(*self.inside).cancel_close(self.shared_from_this());
    });
    close->listen(inside->strand(), handler);
    close->done = {std::move(handler), inside->executor()};
    asio::dispatch(inside->strand(), [close] {
        client_state::of(*close->inside).close(close, std::move(close->done));
    });
}

void client_ping(core_ptr inside, completion<microseconds>::handler_type handler)
{
    query<microseconds>::start(
        std::move(inside),
        std::move(handler),
        {},
        {&ping_command, {std::string{}}, {}},
        [](answer const& got, microseconds& taken) {
            taken = std::chrono::duration_cast<microseconds>(clock::now() - got.sent);
            return failure{};
        }
    );
}

}  // namespace detail
}  // namespace v0_3

client::client(boost::asio::any_io_executor executor, config settings)
    : core_{detail::client_state::make(
          std::move(executor), std::move(settings), detail::core::identity::draw()
      )}
{}

client::~client()
{
    if (!core_->is_shut_down())
        boost::asio::dispatch(core_->strand(), [inside = core_] {
            detail::client_state::of(*inside).retire();
        });
}

void client::stop()
{
    if (core_->is_shut_down())
        return;
    boost::asio::dispatch(core_->strand(), [inside = core_] {
        detail::client_state::of(*inside).stop();
    });
}

client_stats stats_of(detail::client_counters const& c) noexcept
{
    return {
        c.links_up,
        c.holds,
        c.waiters,
        c.keys,
        c.subscriptions,
        c.owed_releases,
        c.reconnects,
        c.owed_copies};
}

std::string const& client::id() const noexcept { return core_->uuid(); }

client_stats client::stats() const { return stats_of(core_->count); }

}  // namespace colock
