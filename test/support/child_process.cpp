// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "support/child_process.hpp"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace colock::test {

child_process::child_process(std::vector<std::string> const& command, std::string const& output)
    : child_process{command, output, -1}
{}

child_process::child_process(
    std::vector<std::string> const& command, std::string const& output, int talk
)
{
    // All that allocates comes before the fork: the proxy's thread may hold the heap's mutex.
    std::vector<char*> words;
    for (auto const& word : command)
        words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    auto const parent = ::getpid();

    id_ = ::fork();
    if (id_ < 0)
        throw std::system_error{errno, std::generic_category(), "fork"};
    if (id_ != 0) {
        ::setpgid(id_, id_);  // here and there: whoever comes first
        return;
    }
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent)
        ::_exit(127);
    int const in = talk < 0 ? ::open("/dev/null", O_RDONLY) : talk;
    int const out = ::open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (in < 0 || out < 0)
        ::_exit(127);
    ::dup2(in, 0);
    ::dup2(talk < 0 ? out : talk, 1);
    ::dup2(out, 2);
    for (int fd = 3; fd != 1'024; ++fd)
        ::close(fd);
    ::execv(words.front(), words.data());
    ::_exit(127);
}

child_process& child_process::operator=(child_process&& other) noexcept
{
    if (this != &other) {
        kill();
        id_ = std::exchange(other.id_, -1);
        status_ = other.status_;
    }
    return *this;
}

bool child_process::is_running() noexcept
{
    if (id_ > 0 && ::waitpid(id_, &status_, WNOHANG) != 0)
        id_ = -1;
    return id_ > 0;
}

bool child_process::wait(std::chrono::milliseconds longest) noexcept
{
    auto const limit = std::chrono::steady_clock::now() + longest;
    while (is_running()) {
        if (std::chrono::steady_clock::now() >= limit)
            return false;
        ::poll(nullptr, 0, 1);
    }
    return true;
}

void child_process::signal(int number) noexcept
{
    if (id_ > 0)
        ::kill(-id_, number);
}

void child_process::kill() noexcept
{
    if (id_ <= 0)
        return;
    signal(SIGKILL);
    ::kill(id_, SIGKILL);  // the group may not be there yet
    while (::waitpid(id_, &status_, 0) < 0 && errno == EINTR) {}
    id_ = -1;
}

}  // namespace colock::test
