#include "child.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <sstream>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace colock::testing {

child::child(std::vector<std::string> const& command, std::string const& output)
{
    // All that allocates comes before the fork: another thread may hold the heap's mutex.
    std::vector<char*> words;
    for (auto const& word : command)
        words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    auto const parent = ::getpid();
    auto const most = ::sysconf(_SC_OPEN_MAX);

    id_ = ::fork();
    if (id_ < 0)
        throw std::system_error{errno, std::generic_category(), "private_server: fork"};
    if (id_ != 0) {
        ::setpgid(id_, id_);  // here and there: whoever comes first
        return;
    }
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent)
        ::_exit(127);
    int const in = ::open("/dev/null", O_RDONLY);
    int const out = ::open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    if (in < 0 || out < 0)
        ::_exit(127);
    ::dup2(in, 0);
    ::dup2(out, 1);
    ::dup2(out, 2);
    for (int fd = 3; fd < most && fd != 1'024; ++fd)
        ::close(fd);
    ::execv(words.front(), words.data());
    ::_exit(127);
}

child& child::operator=(child&& other) noexcept
{
    if (this != &other) {
        kill();
        id_ = std::exchange(other.id_, -1);
    }
    return *this;
}

bool child::is_running() noexcept
{
    if (id_ > 0 && ::waitpid(id_, nullptr, WNOHANG) != 0)
        id_ = -1;
    return id_ > 0;
}

void child::signal(int number) noexcept
{
    if (id_ > 0)
        ::kill(-id_, number);
}

void child::kill() noexcept
{
    if (id_ <= 0)
        return;
    signal(SIGKILL);
    ::kill(id_, SIGKILL);  // the group may not be there yet
    while (::waitpid(id_, nullptr, 0) < 0 && errno == EINTR) {}
    id_ = -1;
}

std::string find_program(std::string const& name)
{
    char const* const path = std::getenv("PATH");
    std::istringstream folders{path ? path : "/usr/bin:/bin"};
    for (std::string folder; std::getline(folders, folder, ':');) {
        auto const file = (folder.empty() ? "." : folder) + '/' + name;
        if (::access(file.c_str(), X_OK) == 0)
            return file;
    }
    return {};
}

}  // namespace colock::testing
