// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A holder sleeps past its lease and writes when another has written: the resource refuses it.
//
//     5_fencing [URL]        redis://127.0.0.1:6379 by default
#include "../raw_redis.hpp"
#include "tutorial.hpp"
#include <colock/colock.hpp>

#include <boost/asio/detached.hpp>

#include <cstdint>
#include <thread>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using tutorial::expect;

// [memory
class account {
public:
    bool set_balance(int amount, std::uint64_t token)
    {
        if (!newest_.admit(token))
            return false;  // a newer holder was here
        balance_ = amount;
        return true;
    }

    int balance() const { return balance_; }

private:
    int balance_ = 100;
    colock::fence newest_;
};
// memory]

// [script
char const* const set_balance = R"(
    local newest = tonumber(redis.call('hget', KEYS[1], 'token') or 0)
    if tonumber(ARGV[1]) < newest then return 'refused' end
    redis.call('hset', KEYS[1], 'token', ARGV[1], 'balance', ARGV[2])
    return 'accepted')";
// script]

/// The same write to an object of this process and to a hash in Redis.
asio::awaitable<bool> write(
    account* local, examples::raw_redis* store, char const* who, int amount, std::uint64_t token
)
{
    bool const accepted = local->set_balance(amount, token);
    auto const stored = co_await store->command(
        "EVAL", set_balance, "1", "account:7", std::to_string(token), std::to_string(amount)
    );
    std::printf("%s writes %d: %s\n", who, amount, stored.c_str());
    expect(accepted == (stored == "accepted"), "both agree");
    co_return accepted;
}

asio::awaitable<void> lesson(std::string url)
{
    auto const executor = co_await asio::this_coro::executor;
    colock::client process_a{executor, colock::config::from_url(url)};
    colock::client process_b{executor, colock::config::from_url(url)};
    process_a.run(asio::detached);
    process_b.run(asio::detached);
    account local;
    auto store = co_await examples::raw_redis::connect(url);

    // [late
    colock::hold a = co_await colock::lock{process_a, "account:7"}.acquire({.lease = 300ms});
    std::puts("A has the lock, reads 100, and stands still");
    std::this_thread::sleep_for(400ms);

    colock::hold b = co_await colock::lock{process_b, "account:7"}.acquire();
    expect(b.fencing_token() > a.fencing_token(), "tokens grow");
    co_await write(&local, &store, "B", 90, b.fencing_token());
    co_await b.release();

    std::puts("A wakes up");
    co_await write(&local, &store, "A", 110, a.fencing_token());  // without asking its hold first
    // late]
    auto const stored = co_await store.command("HGET", "account:7", "balance");
    std::printf("the balance is %d here, %s there\n", local.balance(), stored.c_str());
    expect(local.balance() == 90 && stored == "90", "nothing of A");

    co_await process_b.close();
    co_await process_a.close();
}

int main(int argc, char** argv) { return tutorial::run(lesson(tutorial::server(argc, argv))); }
