// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Takes a lock, does something under it, gives it back.
//
//     1_first_lock [URL]        redis://127.0.0.1:6379 by default
#include <colock/colock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/this_coro.hpp>

#include <cstdint>
#include <cstdio>
#include <exception>
#include <string>

namespace asio = boost::asio;

// The protected resource. It makes the last check: it refuses a late holder by its token.
void charge(std::string const& order, std::uint64_t token)
{
    static colock::fence seen;
    bool const newest = seen.admit(token);
    std::printf("%s: %s\n", order.c_str(), newest ? "charged" : "refused, a newer holder was here");
}

// [readme
asio::awaitable<void> pay(std::string url, std::string order)
{
    colock::client redis{co_await asio::this_coro::executor, colock::config::from_url(url)};
    colock::lock lock{redis, "order:" + order};  // nothing is sent yet

    colock::hold held = co_await lock.acquire();  // connects, waits its turn; then renewed
    charge(order, held.fencing_token());          // the resource can refuse an old token
    co_await held.release();                      // the next one gets in
    co_await redis.close();
}
// readme]

// [main
int main(int argc, char** argv)
{
    asio::io_context context;
    bool paid = false;
    asio::co_spawn(
        context,
        pay(argc > 1 ? argv[1] : "redis://127.0.0.1:6379", "42"),
        [&](std::exception_ptr failure) {
            try {
                if (failure)
                    std::rethrow_exception(failure);
                paid = true;
            } catch (std::exception const& e) {
                std::fprintf(stderr, "%s\n", e.what());
            }
        }
    );
    context.run();
    return paid ? 0 : 1;
}
// main]
