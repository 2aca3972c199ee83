// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "system.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <unistd.h>

#ifdef __linux__
#    include <dirent.h>
#    include <fcntl.h>
#    include <sys/prctl.h>
#    include <sys/signalfd.h>
#else
#    include <algorithm>
#    include <atomic>
#    include <fcntl.h>
#    include <pthread.h>
#    include <thread>
#endif
#ifdef __FreeBSD__
#    include <sys/procctl.h>
#endif

namespace cli {

namespace {

[[noreturn]] void fail(char const* doing)
{
    throw std::system_error{errno, std::generic_category(), doing};
}

std::vector<int> open_below(int most)
{
    std::vector<int> found;
    for (int number = 0; number < most; ++number)
        if (fcntl(number, F_GETFD) >= 0)
            found.push_back(number);
    return found;
}

}  // namespace

#ifdef __linux__

class signal_stream::taker {};

std::vector<int> open_descriptors()
{
    DIR* const folder = opendir("/proc/self/fd");
    if (!folder)
        return open_below(1'024);
    std::vector<int> found;
    int const own = dirfd(folder);
    while (auto const* const entry = readdir(folder)) {
        int const number = std::atoi(entry->d_name);
        if (entry->d_name[0] != '.' && number != own)
            found.push_back(number);
    }
    closedir(folder);
    return found;
}

void die_with_parent(int signal) noexcept { prctl(PR_SET_PDEATHSIG, signal); }

signal_stream::signal_stream(sigset_t const& all)
    : descriptor_{signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK)}
{
    static_assert(sizeof(signalfd_siginfo) == sizeof(record));
    if (descriptor_ < 0)
        fail("signalfd");
}

int signal_stream::number_of(record const& of) noexcept
{
    signalfd_siginfo told;
    std::memcpy(&told, of.data(), sizeof told);
    return static_cast<int>(told.ssi_signo);
}

bool signal_stream::is_from_keyboard(record const& of) noexcept
{
    signalfd_siginfo told;
    std::memcpy(&told, of.data(), sizeof told);
    return told.ssi_code == SI_KERNEL;
}

#else

namespace {

struct told_signal {
    int number;
    bool is_from_keyboard;
};

/// The keys of a terminal send these to its foreground group; nothing here tells who has sent one.
bool may_be_of_keyboard(int number) noexcept
{
    if (number != SIGINT && number != SIGQUIT && number != SIGTSTP)
        return false;
    int const terminal = open("/dev/tty", O_RDWR | O_CLOEXEC);
    bool const is_ours = terminal >= 0 && tcgetpgrp(terminal) == getpgrp();
    if (terminal >= 0)
        close(terminal);
    return is_ours;
}

}  // namespace

/// A thread that waits for the signals, and writes a record of each.
class signal_stream::taker {
public:
    taker(sigset_t all, int to) : to_{to}
    {
        sigaddset(&all, wake_up);
        pthread_sigmask(SIG_BLOCK, &all, nullptr);  // the thread inherits it
        thread_ = std::thread{[this, all] { run(all); }};
    }
    ~taker()
    {
        is_over_ = true;
        pthread_kill(thread_.native_handle(), wake_up);
        thread_.join();
        close(to_);
    }

private:
    /// By default it does nothing.
    static constexpr int wake_up = SIGURG;

    void run(sigset_t const& all) const
    {
        for (int number = 0; sigwait(&all, &number) == 0 && !is_over_;) {
            if (number == wake_up)
                continue;
            told_signal const told{number, may_be_of_keyboard(number)};
            record made{};
            std::memcpy(made.data(), &told, sizeof told);
            [[maybe_unused]] auto const written = write(to_, made.data(), made.size());
        }
    }

    int to_;
    std::atomic<bool> is_over_ = false;
    std::thread thread_;
};

std::vector<int> open_descriptors()
{
    return open_below(static_cast<int>(std::clamp(sysconf(_SC_OPEN_MAX), 1'024L, 65'536L)));
}

void die_with_parent([[maybe_unused]] int signal) noexcept
{
#    ifdef __FreeBSD__
    procctl(P_PID, 0, PROC_PDEATHSIG_CTL, &signal);
#    endif
}

signal_stream::signal_stream(sigset_t const& all)
{
    int ends[2];
    if (pipe(ends) != 0)
        fail("pipe");
    for (int const each : ends)
        fcntl(each, F_SETFD, FD_CLOEXEC);
    descriptor_ = ends[0];
    taker_ = std::make_unique<taker>(all, ends[1]);
}

int signal_stream::number_of(record const& of) noexcept
{
    told_signal told;
    std::memcpy(&told, of.data(), sizeof told);
    return told.number;
}

bool signal_stream::is_from_keyboard(record const& of) noexcept
{
    told_signal told;
    std::memcpy(&told, of.data(), sizeof told);
    return told.is_from_keyboard;
}

#endif

signal_stream::~signal_stream() = default;

}  // namespace cli
