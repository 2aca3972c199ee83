// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// One writer a file. Three processes append lines to it: one is killed in the middle of a write;
// one is stopped there for longer than its lease, and goes on writing when it wakes.
//
//     file [URL]        redis://127.0.0.1:6379 by default
#include "../run.hpp"
#include <colock/colock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/this_coro.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace asio = boost::asio;
namespace fs = std::filesystem;
using namespace std::chrono_literals;

void check(bool well, char const* what)
{
    if (!well)
        throw std::system_error{errno, std::generic_category(), what};
}

void synchronise(fs::path const& path)
{
    int const file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    check(file >= 0 && ::fsync(file) == 0 && ::close(file) == 0, path.c_str());
}

/// A file that is never overwritten: each write makes a new version, named by the token of its
/// writer, and a reader takes the highest.
struct versioned_file {
    fs::path folder;

    std::uint64_t newest() const
    {
        std::uint64_t highest = 0;
        for (auto const& entry : fs::directory_iterator{folder})
            if (!entry.path().has_extension())
                highest = std::max(highest, std::uint64_t{std::stoull(entry.path().filename())});
        return highest;
    }

    std::string read() const
    {
        for (auto version = newest(); version != 0; version = newest())
            if (std::ifstream file{folder / std::to_string(version)})  // else it was just replaced
                return {std::istreambuf_iterator{file}, {}};
        return {};
    }

    // [versions
    void write(std::uint64_t token, std::string const& text, void (*in_the_middle)()) const
    {
        auto const version = folder / std::to_string(token);
        auto const draft = fs::path{version}.replace_extension("draft");
        check(bool{std::ofstream{draft} << text << std::flush}, draft.c_str());
        synchronise(draft);
        in_the_middle();
        fs::rename(draft, version);
        synchronise(folder);
        for (auto const& entry : fs::directory_iterator{folder})
            if (!entry.path().has_extension() && std::stoull(entry.path().filename()) < token)
                fs::remove(entry.path());
    }
    // versions]
};

// [append
/// True: the line is in the file, for good. False: it may be, and is to be appended again.
asio::awaitable<bool> append(
    colock::lock lock, versioned_file file, std::string line, void (*in_the_middle)()
)
{
    colock::hold held = co_await lock.acquire();
    std::string text = file.read();
    if (text.find(line) == text.npos)
        text += line;
    if (!held.valid_for(50ms))
        co_return false;
    file.write(held.fencing_token(), text, in_the_middle);
    auto const [error] = co_await held.release(asio::as_tuple(asio::deferred));
    co_return !error;  // else it was lost, and perhaps before the write
}
// append]

void nothing() {}

struct writer {
    std::string url, name;
    fs::path folder;
    int lines;
    void (*accident)();  // what befalls it in the middle of its third line
};

asio::awaitable<void> write_lines(writer self)
{
    auto settings = colock::config::from_url(self.url);
    settings.lease = 1s;
    colock::client redis{co_await asio::this_coro::executor, settings};
    redis.run(asio::detached);
    colock::lock const lock{redis, "file:" + self.folder.string()};
    versioned_file const file{self.folder};
    for (int i = 1; i <= self.lines; ++i) {
        std::string const line = self.name + std::to_string(i) + '\n';
        auto* accident = i == 3 ? self.accident : nothing;
        for (bool there = false; !there; accident = nothing)
            there = co_await append(lock, file, line, accident);
    }
    co_await redis.close();
}

/// The status of the process when it has ended, or stopped.
int wait(pid_t process)
{
    int status = 0;
    check(::waitpid(process, &status, WUNTRACED) == process, "waitpid");
    return status;
}

/// A process of its own: forked before there is a client, which no process may inherit.
pid_t start(writer const& what)
{
    std::fflush(stdout);
    pid_t const process = ::fork();
    if (process == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        std::_Exit(run(write_lines(what)));
    }
    check(process > 0, "fork");
    return process;
}

void expect(bool well, char const* what)
{
    std::printf("%s\n", what);
    if (!well)
        throw std::logic_error{std::string{"not so: "} + what};
}

void example(std::string const& url, versioned_file const& file)
{
    auto const sleeper = start({url, "sleeper ", file.folder, 3, [] { ::raise(SIGSTOP); }});
    expect(WIFSTOPPED(wait(sleeper)), "one is stopped in the middle of a write");
    auto const victim = start({url, "victim ", file.folder, 3, [] { ::raise(SIGKILL); }});
    expect(WIFSIGNALED(wait(victim)), "one is killed in the middle of a write");
    auto const steady = start({url, "steady ", file.folder, 3, nothing});
    expect(wait(steady) == 0, "one has written its lines");
    auto const newest = file.newest();
    ::kill(sleeper, SIGCONT);
    expect(wait(sleeper) == 0, "the first wakes, writes what nobody reads, and then once more");
    expect(file.newest() > newest, "the newest version has");
    auto const text = file.read();
    std::printf("%s", text.c_str());
    expect(std::count(text.begin(), text.end(), '\n') == 8, "8 lines");
}

int main(int argc, char** argv)
{
    auto const folder = fs::temp_directory_path() / ("colock-file-" + std::to_string(::getpid()));
    int status = 0;
    try {
        fs::create_directory(folder);
        example(argc > 1 ? argv[1] : "redis://127.0.0.1:6379", versioned_file{folder});
    } catch (std::exception const& e) {
        std::fprintf(stderr, "%s\n", e.what());
        status = 1;
    }
    fs::remove_all(folder);
    return status;
}
