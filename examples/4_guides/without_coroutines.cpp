// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Threads that block, callbacks, and an event loop that is not Asio's.
//
//     without_coroutines [URL]        redis://127.0.0.1:6379 by default
#include <colock/colock.hpp>

#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_future.hpp>

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <queue>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;

void expect(bool as_told, char const* what)
{
    if (!as_told)
        throw std::logic_error{std::string{"not as told: "} + what};
}

// [blocking
/// False: somebody else is at work on this order.
bool charge(colock::client& redis, std::string const& order, std::function<void()> const& work)
{
    colock::lock const lock{redis, "order:" + order};
    auto held = lock.try_acquire_for(2s, asio::use_future).get();  // the thread waits
    if (!held)
        return false;
    work();                                 // if it throws, the hold's destructor releases
    held->release(asio::use_future).get();  // throws error::lost if the lock was gone
    return true;
}
// blocking]

/// All threads share one mutex, as they would share a std::timed_mutex; so do other processes.
int count_in_threads(colock::blocking::client& blocking)
{
    colock::blocking::mutex mutex{blocking, "counter"};
    int count = 0;
    auto const count_one = [&] {
        std::lock_guard const guard{mutex};  // throws if the server refuses
        ++count;
    };
    std::vector<std::future<void>> threads;
    threads.reserve(8);
    for (int i = 0; i < 8; ++i)
        threads.push_back(std::async(std::launch::async, count_one));
    for (auto& thread : threads)
        thread.get();  // throws what the thread has thrown
    return count;
}

// [guard
/// False: nothing is printed. Throws error::lost if the lock was lost while the page was printed.
bool print(colock::blocking::mutex& printer, std::function<void()> const& page)
{
    std::unique_lock mine{printer, 2s};  // waits for at most 2 s
    if (!mine.owns_lock() || !printer.held().valid_for(50ms))
        return false;
    page();                     // if it throws, the destructor of `mine` unlocks
    mine.release()->release();  // takes the mutex out of `mine`, and unlocks it
    return true;
}
// guard]

// [wait
/// Every operation takes the token: of semaphores, permits, both sides of a read-write lock, …
void lead_and_simulate(colock::blocking::client& blocking, std::function<void()> const& work)
{
    using colock::blocking::wait;
    colock::election const office{blocking.async(), "scheduler"};
    colock::leadership mine = colock::blocking::run(blocking, office.campaign("10.0.0.1:80"));

    colock::permit_semaphore const seats{blocking.async(), "seats", 2};
    {
        colock::permit const seat = seats.acquire(wait);  // the thread waits
        work();
    }
    mine.resign(wait);
}
// wait]

/// Works step by step until it is done or the lock is lost; false after a loss.
bool work_while_held(colock::hold const& held, int steps, std::function<void()> const& step)
{
    std::stop_token const lost = held.stop_token();
    for (int i = 0; i < steps; ++i) {
        if (lost.stop_requested() || !held.valid_for(50ms))
            return false;
        step();
    }
    return true;
}

// [callback
/// Calls `done` once, on a thread of the client's executor.
void charge_later(colock::lock const& lock, std::function<void(std::string)> const& done)
{
    auto on_acquired = [done](colock::error_code ec, std::optional<colock::hold> held) {
        if (ec)
            return done(ec.message());
        if (!held)
            return done("busy");
        // … the work, which must neither block nor throw …
        held->release([done](colock::error_code failure) {
            done(failure ? failure.message() : "charged");
        });
    };
    lock.try_acquire_for(2s, std::move(on_acquired));
}
// callback]

/// Stands for the loop of another framework.
class other_loop {
public:
    void post(std::function<void()> task)
    {
        std::scoped_lock const guard{mutex_};
        tasks_.push(std::move(task));
        is_there_.notify_one();
    }

    void run_one()
    {
        std::unique_lock guard{mutex_};
        is_there_.wait(guard, [this] { return !tasks_.empty(); });
        auto const task = std::move(tasks_.front());
        tasks_.pop();
        guard.unlock();
        task();
    }

private:
    std::mutex mutex_;
    std::condition_variable is_there_;
    std::queue<std::function<void()>> tasks_;
};

// [loop
using outcome = std::function<void(colock::error_code, std::shared_ptr<colock::hold>)>;

/// Calls `got` in the loop. Loops take std::function, which copies; a hold only moves.
void acquire_in(other_loop& loop, colock::lock const& lock, outcome got)
{
    lock.acquire([&loop, got = std::move(got)](colock::error_code ec, colock::hold held) {
        auto shared = std::make_shared<colock::hold>(std::move(held));
        loop.post([got, ec, shared] { got(ec, shared); });
    });
}
// loop]

void threads_that_block(colock::client& redis)
{
    std::printf("blocking: %s\n", charge(redis, "1", [] {}) ? "charged" : "busy");

    colock::lock const lock{redis, "order:2"};
    auto other = lock.acquire(asio::use_future).get();
    std::printf("somebody has it: %s\n", charge(redis, "2", [] {}) ? "charged" : "busy");
    other.release(asio::use_future).get();

    try {
        charge(redis, "3", [] { throw std::runtime_error{"card refused"}; });
    } catch (std::runtime_error const& e) {
        bool const is_free = charge(redis, "3", [] {});
        std::printf("the work throws: %s, the lock is %s\n", e.what(), is_free ? "free" : "left");
    }

    try {
        charge(redis, "4", [&redis] {
            colock::lock{redis, "order:4"}.force_release(asio::use_future).get();
        });
    } catch (boost::system::system_error const& e) {
        expect(e.code() == colock::error::lost, "the release says so");
        std::printf("lost during the work: release throws error::lost\n");
    }

    colock::blocking::client blocking{redis};  // or {config}: a client and a thread of its own
    std::printf("std::lock_guard: 8 threads count to %d\n", count_in_threads(blocking));
    lead_and_simulate(blocking, [] { std::puts("a thread leads, and has a seat"); });
    colock::blocking::mutex printer{blocking, "printer"};
    std::printf("std::unique_lock: %s\n", print(printer, [] {}) ? "printed" : "not printed");

    int steps = 0;
    colock::lock const long_one{redis, "report"};
    auto const held = long_one.acquire(asio::use_future).get();
    bool const done = work_while_held(held, 10, [&] {
        if (++steps == 3)
            long_one.force_release(asio::use_future).get();
    });
    std::printf("told of the loss: %s after %d steps\n", done ? "done" : "stopped", steps);
}

void callbacks(colock::client& redis)
{
    std::promise<std::string> said;
    charge_later({redis, "order:5"}, [&](std::string text) { said.set_value(std::move(text)); });
    std::printf("callback: %s\n", said.get_future().get().c_str());

    other_loop loop;
    acquire_in(loop, {redis, "order:6"}, [mine = std::this_thread::get_id()](auto ec, auto held) {
        bool const here = std::this_thread::get_id() == mine;
        std::printf("another loop: %s\n", !ec && *held && here ? "held, in its thread" : "failed");
    });
    loop.run_one();
}

int main(int argc, char** argv)
{
    try {
        // [main
        asio::thread_pool pool{1};  // where colock runs; no other thread needs to know Asio
        colock::client redis{
            pool.get_executor(),
            colock::config::from_url(argc > 1 ? argv[1] : "redis://127.0.0.1:6379")};
        threads_that_block(redis);
        callbacks(redis);
        redis.close(asio::use_future).get();  // releases what is still held
        // main]
    } catch (std::exception const& e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
    }
    return 0;
}
