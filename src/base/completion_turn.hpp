#pragma once

#include "base/timer.hpp"

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/execution.hpp>
#include <boost/asio/require.hpp>

#include <utility>

namespace colock {

/// Lets a caller go on at once when an answer of the server has completed its operation, without
/// another pass of the event loop.
///
/// Made in the handler of a reactor event, off the strand, around the work on the strand. If one
/// operation is completed on this thread in that time, `resume` goes on with it: off the strand and
/// in no initiating function, so that only the turn is saved. Several completed operations are
/// posted, so that other threads can share them.
class completion_turn {
public:
    using action = asio::any_completion_handler<void()>;

    completion_turn() noexcept : outer_{std::exchange(current_, this)} {}
    ~completion_turn();
    completion_turn(completion_turn const&) = delete;
    completion_turn& operator=(completion_turn const&) = delete;

    /// Call it last. An exception of the action is thrown here.
    void resume();

    /// Runs an action by the turn of this thread, or posts it if there is none.
    template <class Act>
    static void complete(asio::any_io_executor on, Act act)
    {
        if (auto* const turn = current_)
            turn->keep(std::move(on), std::move(act));
        else
            post(on, std::move(act));
    }

private:
    template <class Act>
    static void post(asio::any_io_executor const& on, Act act)
    {
        asio::require(on, asio::execution::blocking.never).execute(std::move(act));
    }

    void keep(asio::any_io_executor on, action act);
    void finish() noexcept;

    static thread_local completion_turn* current_;

    completion_turn* outer_;
    asio::any_io_executor on_;
    action only_;
    bool has_several_ = false;
    bool is_over_ = false;
};

}  // namespace colock
