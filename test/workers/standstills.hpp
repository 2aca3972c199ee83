// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "workers/chaos_board.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <functional>
#include <mutex>
#include <stop_token>
#include <thread>

namespace colock::test {

/// Notes when this process is given no time to run. What keeps the thread of the library busy, or
/// blocks it, is no such time: it counts that the system says that the thread has waited for a
/// processor, or that another thread, which does nothing else, has stood still at the same time.
class standstills {
public:
    /// Called by both threads.
    using note = std::function<void(std::int64_t begin)>;

    static constexpr std::int64_t pulse = 20'000'000, least = 100'000'000;  ///< ns

    /// Of the thread that makes it.
    explicit standstills(note then)
        : note_{std::move(then)}
        , beside_{[this](std::stop_token const& ended) { beat(ended); }}
    {}

    /// By the thread that made it, each `pulse`, with the moment when that was due.
    void beat_of_main(std::int64_t due)
    {
        auto const waited = waited_for_processor();
        auto const now = chaos_board::now();
        if (now - due > least && waited - waited_ > (now - due) / 2)
            note_(due);
        waited_ = waited;
        std::lock_guard const guard{mutex_};
        if (now - due > least)
            late_ = {due, now};
        next_ = now + pulse;
    }

private:
    struct span {
        std::int64_t begin, end;
    };

    void beat(std::stop_token const& ended)
    {
        while (!ended.stop_requested()) {
            auto const due = chaos_board::now() + pulse;
            std::this_thread::sleep_for(std::chrono::nanoseconds{pulse});
            auto const now = chaos_board::now();
            if (now - due <= least)
                continue;
            auto const [begin, end] = late_of_main(now);
            if (std::min(end, now) - std::max(begin, due) > least)
                note_(std::max(begin, due));
        }
    }

    /// It is late now, or was so last.
    span late_of_main(std::int64_t now)
    {
        std::lock_guard const guard{mutex_};
        return now > next_ + pulse ? span{next_, now} : late_;
    }

    /// This thread, in all its life, in nanoseconds.
    static std::int64_t waited_for_processor()
    {
        std::ifstream file{"/proc/thread-self/schedstat"};
        std::int64_t ran = 0, waited = 0;
        file >> ran >> waited;
        return waited;
    }

    note note_;
    std::int64_t waited_ = waited_for_processor();
    std::mutex mutex_;
    span late_{};  ///< of the library's thread: from when it was due to when it came
    std::int64_t next_ = chaos_board::now() + pulse;  ///< when it is due
    std::jthread beside_;
};

}  // namespace colock::test
