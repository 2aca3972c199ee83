// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Threads that wait for locks.
#include "integration/suites.hpp"
#include "support/patience.hpp"
#include <colock/acquire_many.hpp>
#include <colock/blocking.hpp>
#include <colock/election.hpp>
#include <colock/permit_semaphore.hpp>
#include <colock/read_write_lock.hpp>
#include <colock/semaphore.hpp>

#include <boost/asio/execution.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>

#include <atomic>
#include <functional>
#include <future>
#include <initializer_list>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

namespace colock::test {

/// The code of what it throws; none if it throws nothing.
template <class Act>
error_code code_of(Act act)
{
    try {
        act();
    } catch (boost::system::system_error const& e) {
        return e.code();
    }
    return {};
}

struct with_threads {
    redis_server& server = shared_server(installed_servers().front());
    blocking::client redis{quick(server.by_socket())};
    std::string const name = unique_name("blocking");
};

BOOST_FIXTURE_TEST_SUITE(blocking_locks, with_threads)

BOOST_AUTO_TEST_CASE(threads_count_under_one_mutex)
{
    blocking::mutex shared{redis, name};
    int count = 0;
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i != 8; ++i)
            threads.emplace_back([&] {
                for (int k = 0; k != 20; ++k) {
                    std::scoped_lock const guard{shared};
                    ++count;
                }
            });
    }
    BOOST_TEST(count == 160);
    BOOST_TEST(!exists(server, name));
}

BOOST_AUTO_TEST_CASE(an_owner_in_the_options_lets_no_second_thread_in)
{
    owner const me;
    blocking::mutex shared{redis, name, {.as = me}};
    std::scoped_lock const guard{shared};
    BOOST_TEST(!std::async(std::launch::async, [&] { return shared.try_lock(); }).get());
}

BOOST_AUTO_TEST_CASE(standard_locks_take_it)
{
    blocking::mutex mine{redis, name};
    blocking::mutex other{redis, fair_lock{redis.async(), name + "f"}, {.lease = 5s}};
    std::unique_lock first{mine, 1s};
    std::unique_lock second{other, std::chrono::steady_clock::now() + 1s};
    BOOST_TEST((first.owns_lock() && second.owns_lock()));
    BOOST_TEST(mine.held().valid_for(50ms));
    BOOST_TEST(mine.held().fencing_token() != 0U);
    std::jthread{[&] {
        BOOST_TEST(!mine.held());
        std::unique_lock tried{mine, std::try_to_lock};
        BOOST_TEST(!tried.owns_lock());
        BOOST_TEST(!mine.try_lock_for(10ms));
    }}.join();
    first.unlock();
    BOOST_TEST(!exists(server, name));
    first.lock();
    BOOST_TEST(exists(server, name));
}

BOOST_AUTO_TEST_CASE(every_operation_may_be_waited_for)
{
    using blocking::wait;
    permit_semaphore const seats{redis.async(), name + "p", 1};
    permit seat = seats.acquire(wait);
    BOOST_TEST(is_refused(seats.try_acquire_for(20ms, wait)));
    seat.release(wait);
    BOOST_TEST(seats.available(wait) == 1);
    semaphore const partner{redis.async(), name + "s", 2};
    partner.acquire(2, wait);
    BOOST_TEST(!partner.try_acquire(wait));
    partner.release(2, wait);
    read_write_lock const both{redis.async(), name + "rw"};
    {
        hold const first = both.read().acquire(wait), second = both.read().acquire(wait);
        BOOST_TEST(is_refused(both.write().try_acquire_for(20ms, wait)));
    }
    BOOST_TEST((code_of([&] {
                    semaphore{redis.async(), ""}.acquire(wait);
                }) == error::invalid_argument));
    auto const [up, reach] = std::pair{redis.async().ping(wait), 5s};
    BOOST_TEST((up < reach));
    server.ask("DEL", partner.name(), seats.name());
}

BOOST_AUTO_TEST_CASE(an_election_in_a_thread)
{
    election const office{redis.async(), name};
    leadership mine = blocking::run(redis, office.campaign("here"));
    BOOST_TEST(bool{mine});
    BOOST_TEST(office.current(blocking::wait)->words == "here");
    mine.resign(blocking::wait);
    int terms = 0;
    blocking::run(redis, office.stand("again", [&](leadership&) -> asio::awaitable<void> {
        ++terms;
        co_return;
    }));
    BOOST_TEST(terms == 1);
    auto const failing = [&](leadership&) -> asio::awaitable<int> { throw std::logic_error{"no"}; };
    BOOST_CHECK_THROW(blocking::run(redis, office.lead("third", failing)), std::logic_error);
}

BOOST_AUTO_TEST_CASE(a_thread_does_not_wait_for_itself)
{
    blocking::mutex mine{redis, name};
    std::scoped_lock const guard{mine};
    BOOST_TEST((code_of([&] { mine.lock(); }) == error::would_deadlock));
    BOOST_TEST(!mine.try_lock());
    BOOST_TEST(!mine.try_lock_for(1h));

    asio::thread_pool pool{1};
    asio::any_io_executor const directly = pool.get_executor();
    for (auto const& executor : std::initializer_list<asio::any_io_executor>{
             directly,
             asio::make_strand(pool),
             asio::make_strand(directly),
             asio::prefer(directly, asio::execution::outstanding_work.tracked)}) {
        client shared{executor, quick(server.by_socket())};
        blocking::client on_pool{shared};
        blocking::mutex there{on_pool, name + "p"};
        for (std::function<void()> const& waits : std::initializer_list<std::function<void()>>{
                 [&] { there.lock(); }, [&] { shared.ping(blocking::wait); }}) {
            std::promise<error_code> refusal;
            asio::post(pool, [&] { refusal.set_value(code_of(waits)); });
            auto refused = refusal.get_future();
            BOOST_TEST_REQUIRE((refused.wait_for(5s) == std::future_status::ready));
            BOOST_TEST((refused.get() == error::would_deadlock));
        }
        {
            auto both = acquire_many(shared, {name + "m", name + "n"}, blocking::wait);
            std::promise<error_code> refusal;
            asio::post(pool, [&] {
                refusal.set_value(code_of([&] { both.release(blocking::wait); }));
            });
            BOOST_TEST((refusal.get_future().get() == error::would_deadlock));
            BOOST_TEST(both.held() == 2U);
            both.release(blocking::wait);
            BOOST_TEST(both.empty());
        }
        {
            std::scoped_lock const here{there};
        }
        on_pool.close();
    }
    pool.join();
}

BOOST_AUTO_TEST_CASE(a_loss_is_told_and_takes_nothing_from_the_next)
{
    blocking::mutex mine{redis, name, {.lease = 100ms}};
    mine.lock();
    wait_until("the end of the lease", 5s, [&] { return !mine.held(); });
    std::jthread{[&] {
        mine.lock();
        std::jthread{[&] {}}.join();
        BOOST_TEST(bool{mine.held()});
    }}.join();
    BOOST_TEST((code_of([&] { mine.release(); }) == error::lost));
    BOOST_TEST((code_of([&] { mine.release(); }) == error::not_held));
}

BOOST_AUTO_TEST_CASE(errors_are_thrown_with_the_name)
{
    server.ask("SET", name, "text");
    blocking::mutex wrong{redis, name};
    std::string said;
    try {
        wrong.lock();
    } catch (boost::system::system_error const& e) {
        said = e.what();
    }
    BOOST_TEST(said.find("acquire " + name + " at ") != std::string::npos);
    redis.close();
    BOOST_TEST((code_of([&] { wrong.lock(); }) == error::closed));
    BOOST_TEST((code_of([&] { redis.close(); }) == error::closed));
    server.ask("DEL", name);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
