// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "job.hpp"
#include "status.hpp"
#include "system.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

extern "C" char** environ;  // not every system's header has it

namespace cli {

namespace {

/// The rest of a forked child's life, with all signals blocked. Only system calls.
[[noreturn]] void become(
    char* const* words, char** environment, launch const& how, int terminal, pid_t parent, int pipe
)
{
    setpgid(0, 0);
    if (terminal >= 0)
        tcsetpgrp(terminal, getpid());  // SIGTTOU is blocked
    if (how.death_signal != 0)
        die_with_parent(how.death_signal);
    if (getppid() != parent)
        _exit(127);
    if (how.ignores_children)
        std::signal(SIGCHLD, SIG_IGN);
    sigprocmask(SIG_SETMASK, &how.mask, nullptr);
    environ = environment;
    execvp(words[0], words);
    int const why = errno;
    [[maybe_unused]] auto const told = write(pipe, &why, sizeof why);
    _exit(127);
}

/// As exec wants it, for as long as `texts` lives.
std::vector<char*> pointers_to(std::vector<std::string> const& texts)
{
    std::vector<char*> pointers;
    pointers.reserve(texts.size() + 1);
    for (auto const& text : texts)
        pointers.push_back(const_cast<char*>(text.c_str()));
    pointers.push_back(nullptr);
    return pointers;
}

}  // namespace

// ---- The terminal ------------------------------------------------------------------------------

terminal::terminal() : descriptor_{open("/dev/tty", O_RDWR | O_CLOEXEC)} {}

terminal::~terminal()
{
    if (descriptor_ >= 0)
        close(descriptor_);
}

bool terminal::serves(pid_t group) const noexcept
{
    return descriptor_ >= 0 && tcgetpgrp(descriptor_) == group;
}

bool terminal::is_ours() const noexcept { return serves(getpgrp()); }

void terminal::give(pid_t group) const noexcept
{
    if (descriptor_ < 0)
        return;
    // A background process that asks for this is stopped, unless the signal is blocked.
    sigset_t stop, before;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTTOU);
    pthread_sigmask(SIG_BLOCK, &stop, &before);
    tcsetpgrp(descriptor_, group);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

void terminal::take_back_from(pid_t group) const noexcept
{
    if (serves(group))
        give(getpgrp());
}

// ---- Descriptors -------------------------------------------------------------------------------

inherited_descriptors::inherited_descriptors() : open_{open_descriptors()} {}

void inherited_descriptors::close_others_on_exec() const
{
    for (int const number : open_descriptors())
        if (std::ranges::find(open_, number) == open_.end())
            fcntl(number, F_SETFD, FD_CLOEXEC);
}

void occupy_standard_descriptors()
{
    // An open takes the lowest number that is free.
    for (int const number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
        if (fcntl(number, F_GETFD) < 0)
            open("/dev/null", number == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

// ---- Processes that are left to us -------------------------------------------------------------

bool reap_all_but(pid_t except) noexcept
{
    for (;;) {
        siginfo_t ended = {};
        if (waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid == 0)
            return false;
        if (ended.si_pid == except)
            return true;
        waitpid(ended.si_pid, nullptr, WNOHANG);
    }
}

// ---- The program -------------------------------------------------------------------------------

int job::fork(launch const& how, terminal const* foreground)
{
    auto const words = pointers_to(how.words);
    auto environment = pointers_to(how.environment);
    int ends[2];
    if (pipe(ends) != 0)
        return errno;
    for (int const each : ends)
        fcntl(each, F_SETFD, FD_CLOEXEC);
    int const tty = foreground ? open("/dev/tty", O_RDWR | O_CLOEXEC) : -1;

    // A signal between fork and exec must not run what is meant for this process.
    sigset_t everything, before;
    sigfillset(&everything);
    pthread_sigmask(SIG_SETMASK, &everything, &before);
    auto const parent = getpid();
    id_ = ::fork();
    int why = id_ < 0 ? errno : 0;
    if (id_ == 0)
        become(words.data(), environment.data(), how, tty, parent, ends[1]);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    close(ends[1]);
    if (tty >= 0)
        close(tty);
    if (why != 0) {
        close(ends[0]);
        return why;
    }
    setpgid(id_, id_);  // the child does the same; one of the two is first
    outcome_ = ends[0];
    return 0;
}

int job::signal(int number) const noexcept
{
    return id_ > 0 && kill(-id_, number) != 0 ? errno : 0;
}

std::optional<job::news> job::look() noexcept
{
    int status = 0;
    pid_t which;
    while ((which = waitpid(id_, &status, WNOHANG | WUNTRACED)) < 0 && errno == EINTR) {}
    if (which < 0 && errno == ECHILD)  // it has ended, and nobody knows how
        return news{news::kind::exited, status_lost};
    if (which != id_)
        return {};
    if (WIFSTOPPED(status))
        return news{news::kind::stopped, WSTOPSIG(status)};
    if (WIFSIGNALED(status))
        return news{news::kind::killed, WTERMSIG(status)};
    return news{news::kind::exited, WEXITSTATUS(status)};
}

bool job::has_members() const noexcept { return id_ > 0 && (kill(-id_, 0) == 0 || errno == EPERM); }

}  // namespace cli
