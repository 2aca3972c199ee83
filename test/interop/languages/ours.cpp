// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// The side of colock in run.py:
//
//     ours URL NAME SECTIONS FOLDER
#include <colock/colock.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>

#include <exception>
#include <fcntl.h>
#include <iostream>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

namespace {

namespace asio = boost::asio;

void append(std::string const& file, char what)
{
    int const to = ::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (to < 0 || ::write(to, &what, 1) != 1)
        throw std::runtime_error{"write to " + file};
    ::close(to);
}

/// A file that exists already is an overlap.
void section(std::string const& folder)
{
    auto const inside = folder + "/inside";
    int const mine = ::open(inside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (mine < 0)
        append(folder + "/overlaps", 'c');
    append(folder + "/journal", 'c');
    if (mine < 0)
        return;
    ::close(mine);
    ::unlink(inside.c_str());
}

bool is_done(std::string const& folder, long sections)
{
    struct stat journal = {};
    return ::stat((folder + "/journal").c_str(), &journal) == 0 && journal.st_size >= sections;
}

// NOLINTNEXTLINE(cppcoreguidelines-avoid-reference-coroutine-parameters)
asio::awaitable<void> work(colock::client& redis, std::string name, long sections, std::string in)
{
    colock::lock const lock{redis, std::move(name)};
    while (!is_done(in, sections)) {
        colock::hold held = co_await lock.acquire();
        section(in);
        co_await held.release();
    }
    co_await redis.close();
}

}  // namespace

int main(int, char** words)
try {
    asio::io_context context{1};
    colock::client redis{context.get_executor(), colock::config::from_url(words[1])};
    std::exception_ptr failed;
    asio::co_spawn(
        context,
        work(redis, words[2], std::stol(words[3]), words[4]),
        [&](std::exception_ptr e) { failed = e; }
    );
    context.run();
    if (failed)
        std::rethrow_exception(failed);
    return 0;
} catch (std::exception const& e) {
    std::cerr << e.what() << '\n';
    return 1;
}
