// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "support/shared_memory.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <functional>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>

namespace colock::test {

/// What the processes under chaos share: the end of the work, a sign of life, and the registers
/// that they write to. Nothing in it can be left locked by one that is stopped or killed.
class chaos_board {
public:
    static constexpr std::size_t most_processes = 4'096;
    static constexpr std::size_t most_keys = 1'024;

    /// The answer of a register.
    struct written {
        bool accepted = false;
        std::int64_t order = 0;  ///< from 1, of the accepted ones
    };

    explicit chaos_board(std::string const& file)
        : memory_{file, sizeof(contents)}
        , all_{static_cast<contents*>(memory_.at())}
    {}

    static std::int64_t now() noexcept
    {
        return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds{1};
    }

    void stop() { all_->stopped = 1; }
    bool is_on() const { return all_->stopped == 0; }

    /// Takes writes whatever their token: what happens to those who don't check it.
    void remove_fence() { all_->unfenced = 1; }

    std::atomic<std::int64_t>& last_entry_of(std::uint32_t process)
    {
        return all_->last_entries.at(process % most_processes);
    }
    std::atomic<std::int64_t>& entries() { return all_->entries; }

    /// Refuses a token that is lower than the highest it has seen. One word holds that and the
    /// number of writes, so that they are seen in one order by all.
    written write(std::size_t key, std::uint64_t token)
    {
        auto& word = all_->registers.at(key);
        auto const mine = above_base(token);
        for (auto was = word.load();;) {
            if (mine < was >> order_bits && all_->unfenced == 0)
                return {};
            auto const highest = std::max(mine, was >> order_bits);
            auto const order = (was & (order_limit - 1)) + 1;
            if (order == order_limit)
                return {true, 0};  // beyond what is counted
            if (word.compare_exchange_weak(was, highest << order_bits | order))
                return {true, static_cast<std::int64_t>(order)};
        }
    }

private:
    static constexpr int order_bits = 22;
    static constexpr std::uint64_t order_limit = std::uint64_t{1} << order_bits;

    struct contents {
        std::atomic<int> stopped;
        std::atomic<int> unfenced;
        std::atomic<std::uint64_t> base;
        std::atomic<std::int64_t> entries;
        std::array<std::atomic<std::int64_t>, most_processes> last_entries;
        std::array<std::atomic<std::uint64_t>, most_keys> registers;
    };

    /// Tokens are microseconds since 1970 and more; those of one run fit into what is left of the
    /// word when an hour before the first one is 0. Those that count from 1 fit as they are.
    std::uint64_t above_base(std::uint64_t token)
    {
        constexpr std::uint64_t counted = 1'000'000'000'000;
        if (token < counted)
            return token;
        constexpr std::uint64_t hour = 3'600'000'000;
        std::uint64_t none = 0;
        all_->base.compare_exchange_strong(none, token > hour ? token - hour : 1);
        auto const base = all_->base.load();
        return token > base ? token - base : 0;
    }

    shared_memory memory_;
    contents* all_;
};

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
