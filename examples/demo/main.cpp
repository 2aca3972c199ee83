// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
//     colock-demo URL [--without-lock]        tools/demo runs it
//
// Exits 1 if two processes were in one section, or if the story did not take place.
#include "demo.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace demo {

using namespace std::chrono_literals;

namespace {

volatile std::sig_atomic_t interrupted = 0;

struct process {
    pid_t id = -1;
    int events = -1;
    int status = 0;
};

using crew_type = std::array<process, workers>;

/// Begins a worker. It dies with us, whatever becomes of us.
process begin(assignment what)
{
    auto const parent = ::getpid();
    int ends[2];
    if (::pipe(ends) != 0)
        throw std::system_error{errno, std::generic_category(), "pipe"};
    auto const id = ::fork();
    if (id < 0)
        throw std::system_error{errno, std::generic_category(), "fork"};
    if (id == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != parent)
            std::_Exit(1);
        for (int const of_parent : {SIGINT, SIGHUP, SIGPIPE})
            std::signal(of_parent, SIG_IGN);
        ::close(ends[0]);
        what.events = ends[1];
        std::_Exit(work(what));
    }
    ::close(ends[1]);
    ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
    return {.id = id, .events = ends[0]};
}

void send(process const& to, int signal)
{
    if (to.events >= 0)  // else it is reaped, and the number may be somebody else's
        ::kill(to.id, signal);
}

/// Appends what the workers have told, and their ends; false when all have ended.
bool listen(crew_type& crew, std::vector<event>& to)
{
    bool alive = false;
    for (std::uint8_t w = 0; w != workers; ++w) {
        auto& p = crew[w];
        event e;
        ssize_t got = 0;
        while (p.events >= 0 && (got = ::read(p.events, &e, sizeof e)) == sizeof e)
            to.push_back(e);
        if (p.events >= 0 && got == 0) {
            ::close(p.events);
            p.events = -1;
            while (::waitpid(p.id, &p.status, 0) < 0 && errno == EINTR) {}
            to.push_back({.what = event::kind::ends, .worker = w, .at = clock::now()});
        }
        alive = alive || p.events >= 0;
    }
    return alive;
}

/// Runs the story to its end, and gives all that was told.
std::vector<event> watch(crew_type& crew, timeline& shown, time_point start, milliseconds length)
{
    std::vector<event> told;
    std::size_t seen = 0;
    auto tick = start + 1s, end = start + length;
    auto kill_at = time_point::max();
    bool ending = false, alive = true;
    while (alive) {
        std::this_thread::sleep_for(10ms);
        alive = listen(crew, told);
        // A newer event may have a predecessor in another pipe that has not arrived yet.
        auto const now = clock::now();
        std::ranges::stable_sort(
            told.begin() + static_cast<long>(seen), told.end(), {}, &event::at
        );
        for (; seen != told.size() && (!alive || told[seen].at < now - 5ms); ++seen) {
            auto const& e = told[seen];
            shown.show(e);
            if (e.worker == victim && e.key == story_key && e.what == event::kind::enters)
                kill_at = e.at + 1'100ms;
        }
        if (now >= kill_at && !ending) {
            kill_at = time_point::max();
            send(crew[victim], SIGKILL);
        }
        if (now >= tick && !ending) {
            shown.show_traffic(now);
            tick += 1s;
        }
        if (!ending && (interrupted || now >= end)) {
            ending = true;
            end = now + 3s;
            for (auto const& p : crew)
                send(p, interrupted ? SIGKILL : SIGTERM);
        } else if (ending && now >= end)
            for (auto const& p : crew)
                send(p, SIGKILL);
    }
    return told;
}

int conclude(findings const& found, crew_type const& crew, timeline const& shown, bool locking)
{
    std::printf("\n");
    bool orderly = true;
    for (std::size_t w = 0; w != workers; ++w) {
        bool const killed = WIFSIGNALED(crew[w].status);
        orderly = orderly && (crew[w].status == 0 || (w == victim && killed));
        auto const* const how = killed ? "was killed"
            : crew[w].status == 0      ? "ended in order"
                                       : "failed";
        std::printf("%s: %zu sections, %s\n", shown.letter(w).c_str(), found.entered[w], how);
    }
    std::printf("changes of process: %zu\n", found.handovers);
    bool good = found.sections != 0 && found.overlaps == 0;
    if (locking) {
        std::printf("fencing tokens that are not above the one before: %zu\n", found.stale);
        good = good && found.stale == 0;
    }
    if (locking && !interrupted && !(orderly && found.succeeded)) {
        std::printf("%s\n", shown.paint("the story did not come to its end", "1;31").c_str());
        good = false;
    }
    auto const proof = "never two holders at once: " + std::to_string(found.sections) +
        " sections, " + std::to_string(found.overlaps) + " overlaps";
    std::printf("%s\n", shown.paint(proof, found.overlaps == 0 ? "1;32" : "1;31").c_str());
    if (interrupted)
        return 128 + interrupted;
    return good ? 0 : 1;
}

int play(std::string const& url, bool locking)
{
    auto const start = clock::now();
    crew_type crew;
    for (std::size_t w = 0; w != workers; ++w)
        crew[w] = begin(
            {.index = static_cast<std::uint8_t>(w), .url = url, .locking = locking, .start = start}
        );
    for (int const number : {SIGINT, SIGTERM, SIGHUP})
        std::signal(number, [](int n) { interrupted = n; });

    timeline shown{start, ::isatty(STDOUT_FILENO) != 0 && !std::getenv("NO_COLOR")};
    shown.introduce(locking);
    auto const told = watch(crew, shown, start, locking ? 9'000ms : 2'000ms);
    return conclude(check(told), crew, shown, locking);
}

}  // namespace

}  // namespace demo

int main(int argc, char** argv)
{
    bool const locking = argc == 2;
    if (!locking && !(argc == 3 && std::string_view{argv[2]} == "--without-lock")) {
        std::fprintf(stderr, "usage: colock-demo URL [--without-lock]\n");
        return 64;
    }
    try {
        return demo::play(argv[1], locking);
    } catch (std::exception const& e) {
        std::fprintf(stderr, "colock-demo: %s\n", e.what());
        return 1;
    }
}
