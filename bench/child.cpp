#include "child.hpp"

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <poll.h>
#include <stdexcept>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>
#ifdef __linux__
#    include <sys/prctl.h>
#endif

namespace bench {

namespace {

using std::chrono::steady_clock;

[[noreturn]] void fail(char const* what)
{
    throw std::system_error{errno, std::generic_category(), what};
}

bool write_all(int to, std::string const& text)
{
    for (std::size_t done = 0; done != text.size();) {
        auto const n = write(to, text.data() + done, text.size() - done);
        if (n <= 0)
            return false;
        done += static_cast<std::size_t>(n);
    }
    return true;
}

/// The rest of the life of a copy.
[[noreturn]] void live(std::function<boost::json::object()> const& work, pid_t parent, int pipe)
{
#ifdef __linux__
    // Not even a killed parent leaves anything running.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
    if (getppid() != parent)
        _exit(1);
    try {
        _exit(write_all(pipe, boost::json::serialize(work())) ? 0 : 1);
    } catch (std::exception const& e) {
        std::fprintf(stderr, "colock-bench: a process: %s\n", e.what());
    }
    _exit(1);
}

/// False at the end of what the pipe has.
bool read_some(int pipe, steady_clock::time_point until, std::string& into)
{
    auto const left =
        std::chrono::ceil<std::chrono::milliseconds>(until - steady_clock::now()).count();
    pollfd waited{pipe, POLLIN, 0};
    if (left <= 0 || poll(&waited, 1, static_cast<int>(left)) == 0)
        throw std::runtime_error("a process doesn't end");
    char buffer[4096];
    auto const n = read(pipe, buffer, sizeof buffer);
    if (n < 0)
        fail("read");
    into.append(buffer, static_cast<std::size_t>(n));
    return n != 0;
}

}  // namespace

child::child(std::function<boost::json::object()> const& work)
{
    int ends[2];
    if (pipe(ends) != 0)
        fail("pipe");
    auto const parent = getpid();
    std::fflush(nullptr);
    pid_ = fork();
    if (pid_ < 0)
        fail("fork");
    if (pid_ == 0) {
        close(ends[0]);
        live(work, parent, ends[1]);
    }
    close(ends[1]);
    pipe_ = ends[0];
}

child::~child()
{
    if (pid_ > 0) {
        kill(pid_, SIGKILL);
        waitpid(pid_, nullptr, 0);
    }
    if (pipe_ >= 0)
        close(pipe_);
}

boost::json::object child::result(steady_clock::time_point until)
{
    std::string text;
    while (read_some(pipe_, until, text)) {}
    int status = 0;
    waitpid(std::exchange(pid_, -1), &status, 0);
    if (status != 0 || text.empty())
        throw std::runtime_error("a process has failed");
    return boost::json::parse(text).as_object();
}

namespace detail {

void* map_shared(std::size_t size)
{
    auto* const at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
        fail("mmap");
    return at;
}

void unmap_shared(void* at, std::size_t size) noexcept { munmap(at, size); }

}  // namespace detail

}  // namespace bench
