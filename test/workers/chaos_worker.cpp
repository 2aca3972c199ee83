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
#include <tuple>
#include <type_traits>
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

/// What one has of a kind without holds. It has no lease: it is one's own until one gives it back.
struct lent {
    explicit operator bool() const noexcept { return true; }
    static std::stop_token stop_token() noexcept { return {}; }
    static auto valid_until() noexcept { return std::chrono::steady_clock::time_point::max(); }
};

struct lent_permit : lent {
    auto release(auto token) const { return from.release(1, token); }

    colock::semaphore from;
};

struct lent_turn : lent {
    auto release(auto token) const { return from.count_down(token); }

    colock::countdown_latch from;
};

/// Zero of those that have none.
std::uint64_t token_of(auto const& held)
{
    if constexpr (requires { held.fencing_token(); })
        return held.fencing_token();
    else
        return 0;
}

/// The servers lose nothing at a restart that a red lock needs.
void keep_votes(auto& where)
{
    if constexpr (requires { where.vote_after; })
        where.vote_after = milliseconds{0};
}

template <class Hold>
constexpr bool is_lent = std::is_base_of_v<lent, Hold>;

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
        // What has no lease is nobody's where its answer is given up. Faults last three seconds.
        where.timeout = std::chrono::seconds{20};
        keep_votes(where);
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
        auto const name = given_.text("prefix", "chaos:") + std::to_string(mine.key);
        auto& at = *redis_;
        switch (kind) {
        case 'f': return take(mine, sits, colock::fair_lock{at, name});
        case 's': return take(mine, sits, colock::spin_lock{at, name});
        case 'F': return take(mine, sits, colock::fenced_lock{at, name});
        case 'm': return take(mine, sits, colock::multi_lock{part(name, 'a'), part(name, 'b')});
        case 'r':
            return take(
                mine, sits, colock::red_lock{part(name, 'a'), part(name, 'b'), part(name, 'c')}
            );
        case 'p': return take(mine, sits, colock::permit_semaphore{at, name});
        case 'S': return take(mine, sits, colock::semaphore{at, name});
        case 'c': return take(mine, sits, colock::countdown_latch{at, name});
        case 'w': {
            colock::read_write_lock const both{at, name};
            return mine.shared ? take(mine, sits, both.read()) : take(mine, sits, both.write());
        }
        default: return take(mine, sits, colock::lock{at, name});
        }
    }

    colock::lock part(std::string const& name, char which) const
    {
        return {*redis_, name + ':' + which};
    }

    template <class Kind>
    asio::awaitable<void> take(attempt mine, bool sits, Kind which)
    {
        note(mine, what::asked);
        // One in eight changes its mind.
        milliseconds const limit{below(8) == 0 ? below(30) : 600'000};
        auto [ec, held] = co_await acquire(which, limit);
        if (ec) {
            bool const cancelled = ec == asio::error::operation_aborted;
            note(mine, what::failed, [&](event& e) { e.well = cancelled; });
            if (!cancelled)
                complain("acquire", ec);
            co_await sleep(cancelled ? 0 : 10);
            co_return;
        }
        co_await use(mine, held, sits);
        auto [why] = co_await held.release(tuple);
        // What the server refuses at once was not given back; what it has not answered in the
        // timeout the client goes on with.
        if constexpr (is_lent<decltype(held)>)
            while (why && why != colock::error::unavailable) {
                co_await sleep(10);
                std::tie(why) = co_await held.release(tuple);
            }
        note(mine, what::released, [&](event& e) { e.well = !why; });
        if (why && why != colock::error::lost)
            complain("release", why);
    }

    template <class Lock>
    static auto acquire(Lock which, milliseconds limit)
    {
        return which.acquire(asio::cancel_after(limit, tuple));
    }

    static asio::awaitable<std::tuple<colock::error_code, lent_permit>> acquire(
        colock::semaphore which, milliseconds limit
    )
    {
        auto const [ec] = co_await which.acquire(1, asio::cancel_after(limit, tuple));
        co_return std::tuple{ec, lent_permit{{}, which}};
    }

    /// Who closes the latch has it until he opens it.
    static asio::awaitable<std::tuple<colock::error_code, lent_turn>> acquire(
        colock::countdown_latch which, milliseconds limit
    )
    {
        auto const end = std::chrono::steady_clock::now() + limit;
        for (;;) {
            auto const [ec, is_mine] = co_await which.try_set_count(1, tuple);
            if (ec || is_mine)
                co_return std::tuple{ec, lent_turn{{}, which}};
            auto const left = end - std::chrono::steady_clock::now();
            auto const [why] = co_await which.wait(asio::cancel_after(left, tuple));
            if (why)
                co_return std::tuple{why, lent_turn{{}, which}};
        }
    }

    template <class Hold>
    asio::awaitable<void> use(attempt mine, Hold& held, bool sits)
    {
        bool const informed = given_.number("informed", 1) != 0;
        auto const token = token_of(held);
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
        if constexpr (!is_lent<Hold>)
            if (sits && informed && below(2) == 0)
                co_await wait_for_loss(held, stay);
        do {
            co_await sleep(sits ? 5 : below(given_.number("visit", 2) + 1));
            write(mine, held, token, informed);
        } while ((held || !informed) && std::chrono::steady_clock::now() < end && board_.is_on());
        note(mine, what::left, [&](event& e) { e.valid_until = nanoseconds(held.valid_until()); });
    }

    /// Like one who sleeps until something is wrong.
    template <class Hold>
    static asio::awaitable<void> wait_for_loss(Hold& held, milliseconds longest)
    {
        co_await held.lost(asio::cancel_after(longest, tuple));
    }

    /// The time is taken before the hold is asked: what a stop in between delays isn't its fault.
    template <class Hold>
    void write(attempt const& mine, Hold const& held, std::uint64_t token, bool informed)
    {
        auto const at = chaos_board::now();
        auto const until = nanoseconds(held.valid_until());
        if (mine.shared || token == 0 || (informed && !held))
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
