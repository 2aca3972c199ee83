#include "system/process.hpp"
#include "system/standard_error.hpp"
#include <colock/log.hpp>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdlib>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>

namespace colock {
inline namespace v0_3 {

namespace {

/// How many bytes may wait for standard error.
constexpr std::size_t longest_wait = 262'144;

/// How long the end of the process may wait for the last lines.
constexpr std::chrono::milliseconds patience_at_exit{200};

std::string about_dropped(std::size_t count)
{
    return "colock warning: log: dropped " + std::to_string(count) + " line" +
        (count == 1 ? "" : "s") +
        ": standard error did not take them in time. Read it faster, or set config::log\n";
}

/// Lines of all clients on their way to standard error. A thread writes them while there are any. A
/// stopped terminal, a pipe that nobody reads, or a hanging file server blocks only that thread.
/// Never destroyed: the thread may outlive `main`.
class line_queue {
public:
    /// A forked child begins with a queue of its own: the thread that writes is not there, and one
    /// that is not there may hold the lock.
    static line_queue& of_process()
    {
        static constinit std::atomic<line_queue*> current = nullptr;
        auto* known = current.load();
        if (known && known->process_ == process_id())
            return *known;
        auto* const mine = new line_queue;
        if (current.compare_exchange_strong(known, mine))
            return *mine;
        delete mine;  // another thread was first
        return *known;
    }

    void put(std::string_view line)
    {
        std::lock_guard const locked{lock_};
        if (waiting_.size() + line.size() > longest_wait)
            ++dropped_;
        else
            waiting_ += line;
        if (!is_writing_)
            start_writing();
    }

    /// Waits a moment for the last lines.
    void finish()
    {
        std::unique_lock locked{lock_};
        written_.wait_for(locked, patience_at_exit, [this] { return !is_writing_; });
    }

private:
    void start_writing()
    {
        try {
            start_quiet_thread([this] { write(); });
            is_writing_ = true;
        } catch (std::system_error const&) {
            // No thread could be started: the lines wait, and the next line tries again.
        }
    }

    void write()
    {
        std::unique_lock locked{lock_};
        while (!waiting_.empty() || dropped_ != 0) {
            auto const lines = std::exchange(waiting_, {});
            auto const dropped = std::exchange(dropped_, 0);
            locked.unlock();
            for (std::size_t begin = 0; begin != lines.size();) {
                auto const end = lines.find('\n', begin) + 1;
                write_to_standard_error(std::string_view{lines}.substr(begin, end - begin));
                begin = end;
            }
            if (dropped != 0)
                write_to_standard_error(about_dropped(dropped));
            locked.lock();
        }
        is_writing_ = false;
        written_.notify_all();
    }

    int const process_ = process_id();
    std::mutex lock_;
    std::condition_variable written_;
    std::string waiting_;  ///< whole lines
    std::size_t dropped_ = 0;
    bool is_writing_ = false;
};

}  // namespace

logger stderr_logger(log_level level)
{
    static bool const is_finished_at_exit =
        std::atexit([] { line_queue::of_process().finish(); }) == 0;
    static_cast<void>(is_finished_at_exit);
    auto sink = [](log_level at, std::string_view line) {
        constexpr char const* names[]{"debug", "info", "warning", "error", ""};
        line_queue::of_process().put(
            std::string{"colock "} + names[static_cast<int>(at)] + ": " + std::string{line} + "\n"
        );
    };
    return {std::move(sink), level};
}

}  // namespace v0_3
}  // namespace colock
