// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "base/timer.hpp"
#include "simulation/world/timeline.hpp"

#include <boost/asio/execution.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/io_context.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>

namespace colock::simulation {

/// The computer of a client process: a steady clock of its own, handlers that are ready, timers. It
/// runs only while `serve` is called.
class machine {
public:
    /// Its clock gains so many millionths.
    explicit machine(int drift);
    machine(machine const&) = delete;
    machine& operator=(machine const&) = delete;
    ~machine();

    class executor_type;
    executor_type get_executor() noexcept;

    template <class F>
    void post(F f)
    {
        if (!is_gone_)
            ready_.emplace_back(std::move(f));
    }

    // ---- Time ----------------------------------------------------------------------------------

    time_point local(moment) const noexcept;

    /// The first moment at which its clock shows this.
    moment when(time_point) const noexcept;

    /// When it has to be served next.
    moment next(moment now) const noexcept;

    /// It is not served until then: a process that was stopped, or a machine that swaps.
    void stand_still_until(moment then) noexcept { stands_until_ = std::max(stands_until_, then); }
    bool stands_still(moment now) const noexcept { return now < stands_until_; }

    /// It is suspended: its steady clock stands still as well.
    void suspend(moment from, moment until) noexcept
    {
        stand_still_until(until);
        slept_ += local(until) - local(from);
        is_suspended_ = true;
    }

    /// Runs what is due until nothing is ready.
    void serve(moment now);

    /// Runs it between two handlers, so many from now on, or when there is nothing else.
    void interrupt(std::size_t handlers_from_now, task what);

    /// Somebody waits for a timer of Asio, so its context has to be polled.
    void use_context(bool more) noexcept { context_users_ += more ? 1 : -1; }

    /// Handlers run so far.
    std::uint64_t handlers() const noexcept { return handlers_; }

private:
    bool run_one();

    std::deque<task> ready_;
    bool is_gone_ = false;
    int drift_;
    moment stands_until_{};
    clock::duration slept_{};
    time_point resumed_ = time_point::min();
    bool is_suspended_ = false;
    task interruption_;
    std::size_t interrupts_in_ = 0;
    int context_users_ = 0;
    std::uint64_t handlers_ = 0;
    boost::asio::io_context context_{1};
    timer_queue& timers_;
};

/// Runs handlers on the machine, never inline.
class machine::executor_type {
public:
    explicit executor_type(machine& where) noexcept : where_{&where} {}

    boost::asio::execution_context& query(boost::asio::execution::context_t) const noexcept
    {
        return where_->context_;
    }
    static constexpr boost::asio::execution::blocking_t query(boost::asio::execution::blocking_t)
    {
        return boost::asio::execution::blocking.never;
    }
    executor_type require(boost::asio::execution::blocking_t::never_t) const noexcept
    {
        return *this;
    }

    template <class F>
    void execute(F&& f) const
    {
        where_->post(std::forward<F>(f));
    }

    friend bool operator==(executor_type const&, executor_type const&) noexcept = default;

private:
    machine* where_;
};

inline machine::executor_type machine::get_executor() noexcept { return executor_type{*this}; }

}  // namespace colock::simulation
