#!/usr/bin/python3
"""Reports what colock adds to the time in which a user's file compiles.

Compares, at -O0, a file that awaits a lock in a coroutine with the same file awaiting a
steady_timer instead; prints processor time (user and system), the best of five runs each, taken in
turns so that a busy machine hits both alike.

    compile_time.py [--compiler C] [--boost DIR] [--runs N]
"""

import argparse
import pathlib
import resource
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]

ASIO = """\
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
"""

TIMER = (
    ASIO
    + """\
#include <boost/asio/deferred.hpp>
#include <boost/asio/steady_timer.hpp>

#include <string>

namespace asio = boost::asio;

asio::awaitable<void> work(asio::io_context& context, std::string name) {
    asio::steady_timer timer{context, std::chrono::milliseconds{name.size()}};
    co_await timer.async_wait(asio::deferred);
}

int main() {
    asio::io_context context;
    co_spawn(context, work(context, "order:1"), asio::detached);
    context.run();
}
"""
)

LOCK = (
    ASIO
    + """\
#include <colock/colock.hpp>

#include <string>

namespace asio = boost::asio;

asio::awaitable<void> work(colock::client& redis, std::string name) {
    colock::lock lock{redis, name};
    colock::hold held = co_await lock.acquire();
    co_await held.release();
}

int main() {
    asio::io_context context;
    colock::client redis{context.get_executor()};
    redis.run(asio::detached);
    co_spawn(context, work(redis, "order:1"), asio::detached);
    context.run();
}
"""
)


def processor_time(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    if subprocess.run(command, check=False).returncode:
        sys.exit("doesn't compile: " + " ".join(command))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--boost", default=str(ROOT / ".deps/usr/include"))
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()

    with tempfile.TemporaryDirectory() as folder:
        times: dict[str, list[float]] = {"steady_timer": [], "lock": []}
        for name, text in (("steady_timer", TIMER), ("lock", LOCK)):
            pathlib.Path(folder, f"{name}.cpp").write_text(text, encoding="utf-8")
        for _ in range(options.runs):
            for name, taken in times.items():
                command = [options.compiler, "-std=c++20", "-O0", "-c"]
                command += [f"-I{ROOT / 'include'}", "-isystem", options.boost]
                command += [f"{folder}/{name}.cpp", "-o", f"{folder}/{name}.o"]
                taken.append(processor_time(command))
    timer, lock = min(times["steady_timer"]), min(times["lock"])
    print(f"steady_timer {timer:.2f} s, lock {lock:.2f} s, ratio {lock / timer:.2f}")


main()
