#pragma once

#include "base/timer.hpp"

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <functional>
#include <string>

namespace colock {
inline namespace v0_3 {
namespace testing {

/// Runs a context, and lets colock's clock fly where only time is waited for.
class flight {
public:
    struct plan {
        clock::duration longest_step{};          ///< of the clock
        std::function<bool()> is_wanted;         ///< whether only time is waited for
        std::function<time_point()> next_stop;   ///< no step goes past it, while it's ahead
        std::function<std::string()> who_waits;  ///< for the complaint, when a run doesn't end
    };

    flight(asio::io_context& context, strand_type strand, plan given);

    /// How much of the machine's time a run may take, of all flights. Unless set, 10 s.
    static void set_run_timeout(std::chrono::milliseconds) noexcept;

    /// Throws std::runtime_error after an hour of the clock or the run timeout.
    void run_until(std::function<bool()> const& is_so);
    void run_for(clock::duration time);
    /// The clock goes on while nothing runs.
    void freeze(clock::duration time);

private:
    bool run_ready();
    void step();
    void skip(clock::duration time);
    template <class Then>
    void poke(Then then);
    void check_limits() const;

    asio::io_context& context_;
    plan plan_;
    timer_type poker_;
    time_point until_{};                             ///< flies until then, wanted or not
    clock::duration flown_{};                        ///< since the run has begun
    std::chrono::steady_clock::time_point begun_{};  ///< when that was
};

}  // namespace testing
}  // namespace v0_3
}  // namespace colock
