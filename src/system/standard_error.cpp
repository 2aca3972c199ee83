#include "system/standard_error.hpp"

#include <thread>
#include <utility>

#ifdef _WIN32
#    include <cstdio>
#else
#    include <cerrno>
#    include <csignal>
#    include <cstddef>
#    include <poll.h>
#    include <unistd.h>
#endif

namespace colock {

#ifdef _WIN32

void write_to_standard_error(std::string_view line)
{
    std::fwrite(line.data(), 1, line.size(), stderr);
    std::fflush(stderr);
}

void start_quiet_thread(std::function<void()> work) { std::thread{std::move(work)}.detach(); }

#else

void write_to_standard_error(std::string_view line)
{
    while (!line.empty()) {
        auto const written = ::write(STDERR_FILENO, line.data(), line.size());
        if (written >= 0) {
            line.remove_prefix(static_cast<std::size_t>(written));
        } else if (errno == EAGAIN) {
            pollfd room{STDERR_FILENO, POLLOUT, 0};
            ::poll(&room, 1, -1);
        } else if (errno != EINTR) {
            return;
        }
    }
}

namespace {

/// Blocks all signals for this thread while it lives; a thread that it starts inherits that.
class without_signals {
public:
    without_signals()
    {
        sigset_t everything;
        sigfillset(&everything);
        pthread_sigmask(SIG_SETMASK, &everything, &before_);
    }
    ~without_signals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    without_signals(without_signals const&) = delete;
    without_signals& operator=(without_signals const&) = delete;

private:
    sigset_t before_;
};

}  // namespace

void start_quiet_thread(std::function<void()> work)
{
    without_signals const quiet;
    std::thread{std::move(work)}.detach();
}

#endif

}  // namespace colock
