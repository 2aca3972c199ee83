// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A process under chaos: takes locks, writes to their registers, and notes all that it does, until
// the board says that it is over.
//
//     chaos_worker URL BOARD HISTORY PROCESS SEED [NAME=VALUE...]
//
// It uses nothing of the library but what earlier versions of it have as well.
#include "checker/checker.hpp"
#include "support/cancel_after.hpp"
#include "workers/chaos_board.hpp"
#include <colock/colock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <random>
#include <stop_token>
#include <string>
#include <utility>

namespace {

namespace asio = boost::asio;
using namespace colock::test;
using std::chrono::milliseconds;

constexpr auto tuple = asio::as_tuple(asio::deferred);

/// What the words after the fifth say.
class settings {
public:
    settings(int count, char** words)
    {
        for (int i = 6; i < count; ++i) {
            std::string const word = words[i];
            auto const at = word.find('=');
            values_[word.substr(0, at)] = word.substr(at + 1);
        }
    }
    std::string text(std::string const& name, std::string otherwise) const
    {
        auto const found = values_.find(name);
        return found == values_.end() ? std::move(otherwise) : found->second;
    }
    int number(std::string const& name, int otherwise) const
    {
        auto const found = values_.find(name);
        return found == values_.end() ? otherwise : std::stoi(found->second);
    }

private:
    std::map<std::string, std::string> values_;
};

/// Of a hold that is over: 0, or when it was.
std::int64_t nanoseconds(std::chrono::steady_clock::time_point at)
{
    return std::max<std::int64_t>(0, at.time_since_epoch() / std::chrono::nanoseconds{1});
}

class chaos_worker {
public:
    chaos_worker(int count, char** words)
        : given_{count, words}
        , board_{words[2]}
        , history_{words[3]}
        , process_{static_cast<std::uint32_t>(std::stoul(words[4]))}
        , dice_{static_cast<std::mt19937::result_type>(std::stoul(words[5]))}
    {
        auto where = colock::config::from_url(words[1]);
        where.lease = milliseconds{given_.number("lease", 2'000)};
        redis_.emplace(context_.get_executor(), where);
        std::ofstream{std::string{words[3]} + ".id"} << redis_->id();
    }

    void run()
    {
        redis_->run([this](colock::error_code ec) {
            if (ec)
                complain("run", ec);
        });
        running_ = given_.number("tasks", 6);
        standstills_.emplace([this](std::int64_t begin) {
            note({}, what::stood_still, [&](event& e) { e.valid_until = begin; });
        });
        beat();
        for (int i = 0; i != running_; ++i)
            asio::co_spawn(context_, contend(i < given_.number("sitters", 1)), [](auto thrown) {
                if (thrown)
                    std::rethrow_exception(thrown);
            });
        context_.run();
    }

private:
    /// Where the machine lets nothing run, nobody can be told of anything.
    void beat()
    {
        auto const due = chaos_board::now() + standstills::pulse;
        pulse_.expires_after(std::chrono::nanoseconds{standstills::pulse});
        pulse_.async_wait([this, due](colock::error_code ec) {
            if (ec || running_ == 0)
                return;
            standstills_->beat_of_main(due);
            beat();
        });
    }

    /// An attempt on a lock, and what is noted of it.
    struct attempt {
        std::uint32_t key;
        std::uint32_t number;
        bool shared;
    };

    asio::awaitable<void> contend(bool sits)
    {
        while (board_.is_on()) {
            int const quick = given_.number("keys", 6), slow = given_.number("slow_keys", 2);
            attempt const mine{
                static_cast<std::uint32_t>(sits ? quick + below(slow) : below(quick)),
                ++attempts_,
                false};
            co_await take(mine, sits);
            co_await sleep(below(given_.number("break", 20)));
        }
        if (--running_ == 0)
            co_await end();
    }

    asio::awaitable<void> take(attempt mine, bool sits)
    {
        auto const kind = kind_of(mine.key);
        mine.shared = kind == 'w' && below(3) != 0;
        note(mine, what::asked);
        auto [ec, held] = co_await acquire(kind, mine);
        if (ec) {
            bool const cancelled = ec == asio::error::operation_aborted;
            note(mine, what::failed, [&](event& e) { e.well = cancelled; });
            if (!cancelled)
                complain("acquire", ec);
            co_await sleep(cancelled ? 0 : 10);
            co_return;
        }
        co_await use(mine, held, sits);
        auto const [why] = co_await held.release(tuple);
        note(mine, what::released, [&](event& e) { e.well = !why; });
        if (why && why != colock::error::lost)
            complain("release", why);
    }

    using outcome = std::tuple<colock::error_code, colock::hold>;

    /// One in eight changes its mind.
    asio::awaitable<outcome> acquire(char kind, attempt const& mine)
    {
        auto const name = given_.text("prefix", "chaos:") + std::to_string(mine.key);
        auto const limit = milliseconds{below(8) == 0 ? below(30) : 600'000};
        if (kind == 'f')
            co_return co_await of(colock::fair_lock{*redis_, name}, limit);
        if (kind == 's')
            co_return co_await of(colock::spin_lock{*redis_, name}, limit);
        if (kind == 'w' && mine.shared)
            co_return co_await of(colock::read_write_lock{*redis_, name}.read(), limit);
        if (kind == 'w')
            co_return co_await of(colock::read_write_lock{*redis_, name}.write(), limit);
        co_return co_await of(colock::lock{*redis_, name}, limit);
    }

    template <class Lock>
    asio::awaitable<outcome> of(Lock which, milliseconds limit)
    {
        co_return co_await which.acquire(asio::cancel_after(limit, tuple));
    }

    asio::awaitable<void> use(attempt mine, colock::hold& held, bool sits)
    {
        bool const informed = given_.number("informed", 1) != 0;
        auto const token = held.fencing_token();
        ++board_.entries();
        board_.last_entry_of(process_) = chaos_board::now();
        note(mine, what::got, [&](event& e) {
            e.token = token;
            e.valid_until = nanoseconds(held.valid_until());
        });
        std::stop_callback const told{held.stop_token(), std::function<void()>{[&] {
                                          if (informed)
                                              note(mine, what::told);
                                      }}};
        milliseconds const stay{sits ? 100 + below(given_.number("stay", 1'500)) : 0};
        auto const end = std::chrono::steady_clock::now() + stay;
        if (sits && informed && below(2) == 0)
            co_await wait_for_loss(held, stay);
        do {
            co_await sleep(sits ? 5 : below(given_.number("visit", 2) + 1));
            write(mine, held, token, informed);
        } while ((held || !informed) && std::chrono::steady_clock::now() < end && board_.is_on());
        note(mine, what::left, [&](event& e) { e.valid_until = nanoseconds(held.valid_until()); });
    }

    /// Like one who sleeps until something is wrong.
    asio::awaitable<void> wait_for_loss(colock::hold& held, milliseconds longest)
    {
        co_await held.lost(asio::cancel_after(longest, tuple));
    }

    /// The time is taken before the hold is asked: what a stop in between delays isn't its fault.
    void write(attempt const& mine, colock::hold const& held, std::uint64_t token, bool informed)
    {
        auto const at = chaos_board::now();
        auto const until = nanoseconds(held.valid_until());
        if (mine.shared || (informed && !held))
            return;
        auto const done = board_.write(mine.key, token);
        event e = of(mine, what::used);
        e.done = std::exchange(e.at, at);
        e.token = token;
        e.accepted = done.accepted;
        e.order = done.order;
        e.valid_until = until;
        history_.add(e);
    }

    char kind_of(std::uint32_t key) const
    {
        auto const kinds = given_.text("kinds", "l");
        return kinds.at(key % kinds.size());
    }

    event of(attempt const& mine, what kind) const
    {
        event e;
        e.at = chaos_board::now();
        e.kind = kind;
        e.shared = mine.shared;
        e.process = process_;
        e.key = mine.key;
        e.attempt = mine.number;
        return e;
    }

    void note(attempt const& mine, what kind, std::function<void(event&)> const& more = {})
    {
        event e = of(mine, kind);
        if (more)
            more(e);
        history_.add(e);
    }

    asio::awaitable<void> sleep(int ms)
    {
        asio::steady_timer timer{context_, milliseconds{ms}};
        co_await timer.async_wait(asio::deferred);
    }

    asio::awaitable<void> end()
    {
        pulse_.cancel();
        auto const [ec] = co_await redis_->close(tuple);
        if (ec)
            complain("close", ec);
    }

    void complain(char const* of, colock::error_code ec)
    {
        std::cerr << "process " << process_ << ": " << of << ": " << ec.message() << '\n';
    }

    int below(int limit)
    {
        return limit < 1 ? 0 : static_cast<int>(dice_() % static_cast<unsigned>(limit));
    }

    settings given_;
    chaos_board board_;
    history_writer history_;
    std::uint32_t process_;
    std::mt19937 dice_;
    asio::io_context context_{1};
    asio::steady_timer pulse_{context_};
    std::optional<colock::client> redis_;
    std::optional<standstills> standstills_;
    std::uint32_t attempts_ = 0;
    int running_ = 0;
};

}  // namespace

int main(int count, char** words)
{
    try {
        chaos_worker{count, words}.run();
        return 0;
    } catch (std::exception const& thrown) {
        std::cerr << "chaos_worker: " << thrown.what() << '\n';
        return 1;
    }
}
