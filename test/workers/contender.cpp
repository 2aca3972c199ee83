// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A process of a contest, until the board says that it is over:
//
//     contender URL FILE INDEX
//
// FILE is workers/contest_board.hpp's; INDEX is the process's own.
#include "workers/chaos_board.hpp"
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
#include <mutex>
#include <optional>
#include <random>
#include <stop_token>
#include <string>
#include <vector>

namespace {

namespace asio = boost::asio;
using colock::test::contest_board;
using colock::test::contest_plan;
using std::chrono::milliseconds;

std::int64_t nanoseconds(std::chrono::steady_clock::time_point at)
{
    return at.time_since_epoch() / std::chrono::nanoseconds{1};
}

/// Notices that came after the validity of their holds. One that the process had no time for is not
/// late; whether it had is known a little later.
class late_notices {
public:
    void stood_still(contest_board::time from, contest_board::time to)
    {
        std::lock_guard const guard{mutex_};
        standstills_.push_back({from, to});
    }
    void told(contest_board::time valid_until, contest_board::time at)
    {
        late_.push_back({valid_until, at});
    }

    void report(contest_board& board)
    {
        std::lock_guard const guard{mutex_};
        for (auto const& each : late_)
            contest_board::raise(
                board.count().most_late, each.to - each.from - still_until(each.to)
            );
    }

private:
    struct span {
        contest_board::time from, to;
    };

    /// In the two seconds before: the notice is due a second before the end at the earliest.
    contest_board::time still_until(contest_board::time at) const
    {
        constexpr contest_board::time before = 2'000'000'000;
        contest_board::time all = 0;
        for (auto const& s : standstills_)
            if (s.from < at && s.to > at - before)
                all += s.to - s.from;
        return all;
    }

    std::mutex mutex_;
    std::vector<span> standstills_;
    std::vector<span> late_;  ///< from the end of the validity to the notice
};

/// Inside, for as long as it lives and its hold isn't lost.
class presence {
public:
    presence(
        contest_board& board,
        late_notices& late,
        int process,
        int key,
        colock::hold const& held,
        contest_board::time waited
    )
        : board_{board}
        , late_{late}
        , key_{key}
        , valid_until_{nanoseconds(held.valid_until())}
        , me_{held.fencing_token(), contest_board::now(), valid_until_ - lease()}
        , told_{entered(process, waited, held), [this] { be_told(); }}
    {
        board_.introduce(key_, me_);
    }
    presence(presence const&) = delete;
    presence& operator=(presence const&) = delete;
    ~presence()
    {
        if (!lost_)
            board_.leave(key_);
    }

    void write(colock::hold const& held)
    {
        if (!held)
            return;
        valid_until_ = nanoseconds(held.valid_until());
        board_.write(key_, me_);
    }

    bool is_lost() const noexcept { return lost_; }

private:
    contest_board::time lease() const
    {
        return board_.plan().lease_ms * contest_board::time{1'000'000};
    }

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
        board_.part(key_);
        ++board_.count().lost;
        auto const at = contest_board::now();
        if (at <= valid_until_)
            return;
        ++board_.count().late;
        late_.told(valid_until_, at);
    }

    contest_board& board_;
    late_notices& late_;
    int key_;
    contest_board::time valid_until_;  ///< as last seen
    contest_board::writer me_;
    bool lost_ = false;
    std::stop_callback<std::function<void()>> told_;
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
        standstills_.emplace([this](std::int64_t begin) {
            late_.stood_still(begin, contest_board::now());
        });
        beat();
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
            if (ec == colock::error::server_refused && ec == colock::condition::retryable)
                ++board_.count().refusals;
            else if (ec)
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
            presence inside{board_, late_, index_, key, held, waited};
            auto const end =
                std::chrono::steady_clock::now() + milliseconds{is_quick ? 0 : 500 + below(2'500)};
            do {
                co_await sleep(is_quick ? 1 + below(3) : 5);
                inside.write(held);
            } while (held && std::chrono::steady_clock::now() < end && board_.is_on());
            was_lost = inside.is_lost() || !held;
        }
        auto const [ec] = co_await held.release(asio::as_tuple(asio::deferred));
        if (ec == colock::error::lost && !was_lost) {
            board_.part(key);
            ++board_.count().gone;
        }
    }

    asio::awaitable<void> sleep(int ms)
    {
        asio::steady_timer timer{context_, milliseconds{ms}};
        co_await timer.async_wait(asio::deferred);
    }

    /// Where the machine lets nothing run, nobody can be told of anything.
    void beat()
    {
        using colock::test::standstills;
        auto const due = contest_board::now() + standstills::pulse;
        pulse_.expires_after(std::chrono::nanoseconds{standstills::pulse});
        pulse_.async_wait([this, due](colock::error_code ec) {
            if (ec || running_ == 0)
                return;
            standstills_->beat_of_main(due);
            beat();
        });
    }

    asio::awaitable<void> end()
    {
        pulse_.cancel();
        standstills_.reset();
        late_.report(board_);
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
    late_notices late_;
    asio::io_context context_{1};
    asio::steady_timer pulse_{context_};
    std::optional<colock::client> redis_;
    std::optional<colock::test::standstills> standstills_;
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
