// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
// A user whose section is a coroutine under with_lock.
#include "simulation/world/user.hpp"
#include "simulation/world/world.hpp"
#include <colock/lock.hpp>
#include <colock/with_lock.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/error.hpp>

#include <exception>
#include <utility>

namespace colock::simulation {

namespace asio = boost::asio;

namespace {

/// A wait for the world's time, which its coroutine may cancel.
struct nap {
    asio::any_completion_handler<void(error_code)> waiting;

    void end(error_code ec)
    {
        if (waiting)
            std::exchange(waiting, nullptr)(ec);
    }
};

/// `owner` keeps the nap: whoever it belongs to may go before it is over, and the coroutine with
/// it.
auto sleep(timeline& time, machine& on, std::shared_ptr<void>& owner, moment how_long)
{
    return asio::async_initiate<asio::use_awaitable_t<> const&, void(error_code)>(
        [&time, &on, &owner, how_long](auto handler) {
            auto const taken = std::make_shared<nap>();
            owner = taken;
            auto slot = asio::get_associated_cancellation_slot(handler);
            taken->waiting = std::move(handler);
            auto const end_with = [&on, weak = std::weak_ptr{taken}](error_code ec) {
                if (!weak.expired())
                    on.post([weak, ec] {
                        if (auto const there = weak.lock())
                            there->end(ec);
                    });
            };
            if (slot.is_connected())
                slot.assign([end_with](asio::cancellation_type) {
                    end_with(asio::error::operation_aborted);
                });
            time.after(how_long, [end_with] { end_with({}); });
        },
        asio::use_awaitable
    );
}

}  // namespace

void user::run_coroutine()
{
    home_.computer().use_context(true);
    auto self = shared_from_this();
    asio::co_spawn(
        home_.computer().get_executor(),
        with_lock(
            lock{home_.at(0), of_->parts.front()},
            options(now_.on),
            [self](hold& held) { return self->work(held); }
        ),
        cancellable([self](std::exception_ptr const& thrown) {
            self->home_.computer().use_context(false);
            try {
                if (thrown)
                    std::rethrow_exception(thrown);
            } catch (boost::system::system_error const& e) {
                self->check_error(e.code());
            }
            self->finish();
        })
    );
}

asio::awaitable<void> user::work(hold& held)
{
    auto& around = home_.around();
    waits_since_.reset();
    // Destroyed with the coroutine, before the lock is given back.
    struct visit {
        ~visit() { truth.leave(at, "ends its work"); }
        judge& truth;
        judge::place at;
    };
    visit const inside{around.truth(), around.truth().enter(told_by(held, now_.on.synced))};
    if (may_stay_taken())
        around.truth().reserve(*inside.at, asked_, now_.on.at_least);
    around.count_section();
    co_await sleep(around.time(), home_.computer(), nap_, now_.stay);
}

}  // namespace colock::simulation
