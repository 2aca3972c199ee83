// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A process of a contest, until the board says that it is over:
//
//     contender URL FILE INDEX
//
// FILE is workers/contest_board.hpp's; INDEX is the process's own.
#include "workers/contest_board.hpp"
#include <colock/colock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <exception>
#include <functional>
#include <iostream>
#include <optional>
#include <random>
#include <stop_token>
#include <string>

namespace {

namespace asio = boost::asio;
using colock::test::contest_board;
using colock::test::contest_plan;
using std::chrono::milliseconds;

/// Inside, for as long as it lives and its hold isn't lost.
class presence {
public:
    presence(
        contest_board& board,
        int process,
        int key,
        colock::hold const& held,
        contest_board::time waited
    )
        : board_{board}
        , key_{key}
        , token_{held.fencing_token()}
        , valid_until_{held.valid_until()}
        , told_{entered(process, waited, held), [this] { be_told(); }}
        , writer_{board.introduce(key, token_)}
    {}
    presence(presence const&) = delete;
    presence& operator=(presence const&) = delete;
    ~presence()
    {
        if (!lost_)
            board_.leave(key_);
    }

    void write(colock::hold const& held)
    {
        valid_until_ = held ? held.valid_until() : valid_until_;
        if (held)
            board_.write(key_, token_, writer_);
    }

    bool is_lost() const noexcept { return lost_; }

private:
    // Before the hold can be told lost, which leaves the section.
    std::stop_token entered(int process, contest_board::time waited, colock::hold const& held)
    {
        board_.enter(process, key_, waited);
        return held.stop_token();
    }

    void be_told()
    {
        lost_ = true;
        board_.leave(key_);
        ++board_.count().lost;
        auto const late = std::chrono::steady_clock::now() - valid_until_;
        if (late <= late.zero())
            return;
        ++board_.count().late;
        contest_board::raise(board_.count().most_late, late / std::chrono::nanoseconds{1});
    }

    contest_board& board_;
    int key_;
    std::uint64_t token_;
    colock::hold::clock::time_point valid_until_;  ///< as last seen
    bool lost_ = false;
    std::stop_callback<std::function<void()>> told_;
    std::int64_t writer_;
};

class contender {
public:
    explicit contender(char const* const* words)
        : board_{words[2]}
        , index_{std::stoi(words[3])}
        , dice_{static_cast<std::mt19937::result_type>(std::stoul(words[4]))}
    {
        auto settings = colock::config::from_url(words[1]);
        settings.lease = milliseconds{plan_.lease_ms};
        redis_.emplace(context_.get_executor(), settings);
    }

    void run()
    {
        redis_->run(asio::detached);
        int const each = running_ = plan_.quick_tasks + plan_.sitters;
        for (int i = 0; i != each; ++i)
            asio::co_spawn(
                context_,
                contend(i < plan_.quick_tasks, index_ * each + i),
                [](std::exception_ptr thrown) {
                    if (thrown)
                        std::rethrow_exception(thrown);
                }
            );
        context_.run();
    }

private:
    asio::awaitable<void> contend(bool is_quick, int number)
    {
        while (board_.is_on()) {
            int const key =
                is_quick ? below(plan_.quick_keys) : plan_.quick_keys + below(plan_.sitter_keys);
            auto const begin = contest_board::now();
            board_.of_task(number).key = key;
            board_.of_task(number).waiting_since = begin;
            colock::lock const mine{*redis_, plan_.name_of(key)};
            auto [ec, held] = co_await mine.acquire(
                {.sync_replicas = plan_.sync_replicas}, asio::as_tuple(asio::deferred)
            );
            board_.of_task(number).waiting_since = 0;
            auto const waited = contest_board::now() - begin;
            if (ec)
                complain(ec);
            else
                co_await use(is_quick, key, held, waited);
            co_await sleep(ec ? 10 : below(plan_.longest_break_ms));
        }
        if (--running_ == 0)
            co_await end();
    }

    asio::awaitable<void> use(
        bool is_quick, int key, colock::hold& held, contest_board::time waited
    )
    {
        bool was_lost = false;
        if (held) {
            presence inside{board_, index_, key, held, waited};
            auto const end =
                std::chrono::steady_clock::now() + milliseconds{is_quick ? 0 : 500 + below(2'500)};
            do {
                co_await sleep(is_quick ? 1 + below(3) : 5);
                inside.write(held);
            } while (held && std::chrono::steady_clock::now() < end && board_.is_on());
            was_lost = inside.is_lost() || !held;
        }
        auto const [ec] = co_await held.release(asio::as_tuple(asio::deferred));
        if (ec == colock::error::lost && !was_lost)
            ++board_.count().gone;
    }

    asio::awaitable<void> sleep(int ms)
    {
        asio::steady_timer timer{context_, milliseconds{ms}};
        co_await timer.async_wait(asio::deferred);
    }

    asio::awaitable<void> end()
    {
        auto const [ec] = co_await redis_->close(asio::as_tuple(asio::deferred));
        if (ec)
            complain(ec);
        ++board_.count().ended;
    }

    void complain(colock::error_code ec)
    {
        ++board_.count().failures;
        std::cerr << "process " << index_ << ": " << ec.message() << '\n';
    }

    int below(int limit) { return static_cast<int>(dice_() % static_cast<unsigned>(limit)); }

    contest_board board_;
    contest_plan plan_ = board_.plan();
    int index_;
    int running_ = 0;
    std::mt19937 dice_;
    asio::io_context context_{1};
    std::optional<colock::client> redis_;
};

}  // namespace

int main(int count, char** words)
{
    if (count != 5)
        return 64;
    try {
        contender{words}.run();
        return 0;
    } catch (std::exception const& e) {
        std::cerr << e.what() << '\n';
        return 1;
    }
}
