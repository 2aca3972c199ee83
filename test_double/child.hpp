#pragma once

#include <cerrno>
#include <chrono>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <string>
#include <sys/types.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>
#ifdef __linux__
#    include <sys/prctl.h>
#endif

namespace colock {
inline namespace v0_3 {
namespace testing {

/// The descriptor, which programs that are started do not inherit.
inline int not_inherited(int descriptor) noexcept
{
    ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    return descriptor;
}

/// In a child: it is killed when its parent dies. Only Linux has that. Only system calls.
inline void die_with_parent() noexcept
{
#ifdef __linux__
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
}

/// A program that runs beside the test, in a process group of its own. It is killed with this
/// object, so also after a test that failed, and on Linux when the test program dies. (All in
/// the header: colock's own tests have it from here without linking colock::testing.)
class child {
public:
    child() noexcept = default;

    /// Starts `command`, whose first word is a path; what it prints goes behind what is in the file
    /// `output`. To be called on a thread that lives as long as the child: the kernel takes the end
    /// of that thread for the parent's.
    child(std::vector<std::string> const& command, std::string const& output)
        : child{command, output, -1}
    {}

    /// One whose standard input and output are `talk`, a socket; what it says to standard error
    /// goes to the file.
    child(std::vector<std::string> const& command, std::string const& output, int talk)
    {
        // All that allocates comes before the fork: another thread may hold the heap's mutex.
        std::vector<char*> words;
        for (auto const& word : command)
            words.push_back(const_cast<char*>(word.c_str()));
        words.push_back(nullptr);
        auto const parent = ::getpid();

        // A signal between fork and exec must not run the test's handler in the child.
        sigset_t all, before;
        sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &before);
        id_ = ::fork();
        if (id_ == 0)
            become(words.data(), output.c_str(), talk, parent);
        int const why = errno;
        ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
        if (id_ < 0)
            throw std::system_error{why, std::generic_category(), "fork for " + command.front()};
        ::setpgid(id_, id_);  // in parent and child, because either may be first
    }

    child(child&& other) noexcept : id_{std::exchange(other.id_, -1)}, status_{other.status_} {}
    child& operator=(child&& other) noexcept
    {
        if (this != &other) {
            kill();
            id_ = std::exchange(other.id_, -1);
            status_ = other.status_;
        }
        return *this;
    }
    ~child() { kill(); }

    pid_t id() const noexcept { return id_; }

    /// False once it has ended, which this notices.
    bool is_running() noexcept
    {
        if (id_ > 0 && ::waitpid(id_, &status_, WNOHANG) != 0)
            id_ = -1;
        return id_ > 0;
    }

    /// Waits for its end; false if it still runs then.
    bool wait(std::chrono::milliseconds longest) noexcept
    {
        auto const limit = std::chrono::steady_clock::now() + longest;
        while (is_running()) {
            if (std::chrono::steady_clock::now() >= limit)
                return false;
            ::poll(nullptr, 0, 1);
        }
        return true;
    }

    /// It has ended by itself, and says that all went well.
    bool has_succeeded() const noexcept { return id_ < 0 && status_ == 0; }

    /// To the whole group.
    void signal(int number) noexcept
    {
        if (id_ > 0)
            ::kill(-id_, number);
    }

    /// Ends it at once, and waits for that.
    void kill() noexcept
    {
        if (id_ <= 0)
            return;
        signal(SIGKILL);
        ::kill(id_, SIGKILL);  // the group may not be there yet
        while (::waitpid(id_, &status_, 0) < 0 && errno == EINTR) {}
        id_ = -1;
    }

private:
    /// The program does not inherit the signals that the test blocks, ignores or handles. Only
    /// system calls.
    static void forget_signals() noexcept
    {
        for (int number = 1; number < NSIG; ++number)
            ::signal(number, SIG_DFL);
        sigset_t none;
        sigemptyset(&none);
        ::sigprocmask(SIG_SETMASK, &none, nullptr);
    }

    /// The rest of a forked child's life, with all signals blocked. Only system calls.
    [[noreturn]] static void become(char* const* words, char const* output, int talk, pid_t parent)
    {
        ::setpgid(0, 0);
        die_with_parent();
        if (::getppid() != parent)
            ::_exit(127);
        int const in = talk < 0 ? ::open("/dev/null", O_RDONLY) : talk;
        int const out = ::open(output, O_WRONLY | O_CREAT | O_APPEND, 0600);
        if (in < 0 || out < 0)
            ::_exit(127);
        ::dup2(in, 0);
        ::dup2(talk < 0 ? out : talk, 1);
        ::dup2(out, 2);
        for (int fd = 3; fd != 1'024; ++fd)
            ::close(fd);
        forget_signals();
        ::execv(words[0], words);
        ::_exit(127);
    }

    pid_t id_ = -1;
    int status_ = -1;  ///< as waitpid gives it
};

}  // namespace testing
}  // namespace v0_3
}  // namespace colock
