// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "simulation/world/dice.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace colock::simulation {

/// Something to be done once.
class task {
public:
    task() noexcept = default;
    template <class F>
    explicit task(F f) : inside_{std::make_unique<holding<F>>(std::move(f))}
    {}
    explicit operator bool() const noexcept { return inside_ != nullptr; }
    void operator()() { std::exchange(inside_, nullptr)->run(); }

private:
    struct base {
        virtual ~base() = default;
        virtual void run() = 0;
    };
    template <class F>
    struct holding final : base {
        explicit holding(F given) : f{std::move(given)} {}
        void run() override { f(); }
        F f;
    };

    std::unique_ptr<base> inside_;
};

/// What will happen in the world, in the order of true time; at one moment in the order in which
/// it was put there.
class timeline {
public:
    moment now() const noexcept { return now_; }

    template <class F>
    void at(moment when, F f)
    {
        events_.push_back({std::max(when, now_), ++last_, task{std::move(f)}});
        std::push_heap(events_.begin(), events_.end(), later{});
    }
    template <class F>
    void after(moment time, F f)
    {
        at(now_ + time, std::move(f));
    }

    moment next() const noexcept { return events_.empty() ? never_again : events_.front().when; }

    void go_to(moment when) noexcept { now_ = std::max(now_, when); }

    void run_next()
    {
        std::pop_heap(events_.begin(), events_.end(), later{});
        auto due = std::move(events_.back());
        events_.pop_back();
        go_to(due.when);
        due.what();
    }

    /// Drops all that would happen. What is dropped may put more there.
    void clear()
    {
        while (!events_.empty()) {
            auto const dropped = std::exchange(events_, {});
        }
    }

private:
    struct event {
        moment when;
        std::uint64_t number;
        task what;
    };
    struct later {
        bool operator()(event const& a, event const& b) const noexcept
        {
            return a.when != b.when ? a.when > b.when : a.number > b.number;
        }
    };

    moment now_{};
    std::uint64_t last_ = 0;
    std::vector<event> events_;
};

}  // namespace colock::simulation
