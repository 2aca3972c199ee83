#pragma once

#include "base/recycling.hpp"

#include <coroutine>
#include <exception>
#include <utility>

namespace colock {

/// A fire-and-forget coroutine: it begins at the call, waits only for `event`s, and frees itself at
/// its end. It runs where its events are set, which is always on the strand, so it needs no
/// executor, and a step of a protocol costs one frame.
///
/// While it waits it belongs to the event: destroying the event destroys the coroutine and its
/// frame. So nothing is left over when a client is destroyed in the middle.
///
/// It must not throw: the functions that it calls can fail only by allocation, and a lock with
/// half-done bookkeeping must not be used further.
struct strand_task {
    struct promise_type : recycled {
        strand_task get_return_object() noexcept { return {}; }
        std::suspend_never initial_suspend() noexcept { return {}; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() noexcept {}
        void unhandled_exception() noexcept { std::terminate(); }
    };
};

/// The thing that one task waits for, with a value. Set it at most once for each wait; setting it
/// before the wait begins is remembered.
template <class T>
class event {
public:
    event() = default;
    event(event const&) = delete;
    event& operator=(event const&) = delete;
    ~event() { destroy_waiting(); }

    /// Resumes the waiting task inside the call. The event may be gone when it returns.
    void set(T value)
    {
        value_ = std::move(value);
        is_set_ = true;
        if (auto waiting = std::exchange(waiting_, nullptr))
            waiting.resume();
    }

    bool is_set() const noexcept { return is_set_; }

    /// A task waits for it.
    bool is_awaited() const noexcept { return waiting_ != nullptr; }

    bool await_ready() const noexcept { return is_set_; }
    void await_suspend(std::coroutine_handle<> waiting) noexcept { waiting_ = waiting; }
    T await_resume()
    {
        is_set_ = false;
        return std::move(value_);
    }

    /// Forgets a value that was set and not yet taken.
    void reset() noexcept { is_set_ = false; }

    /// Destroys the waiting task, and with it an event that lives in its frame.
    void destroy_waiting() noexcept
    {
        if (auto waiting = std::exchange(waiting_, nullptr))
            waiting.destroy();
    }

private:
    T value_{};
    bool is_set_ = false;
    std::coroutine_handle<> waiting_{};
};

}  // namespace colock
