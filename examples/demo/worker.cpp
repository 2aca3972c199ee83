// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "demo.hpp"
#include <colock/colock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <random>
#include <unistd.h>
#include <utility>
#include <variant>

namespace demo {

namespace asio = boost::asio;
using namespace std::chrono_literals;

namespace {

struct part {
    milliseconds begin, length;
};

/// When each process wants the story's lock, and for how long: A for three leases, B as soon as A
/// is out, C until it is killed, and A again, which has to wait for C's lease to end.
std::array<std::vector<part>, workers> const story{
    {{{1s, 3 * lease}, {5'700ms, 600ms}}, {{1'700ms, 700ms}}, {{4'300ms, 1h}}}};

// One write for each event, within a pipe's atomic unit: a report from before a SIGKILL arrives,
// and complete.
void tell(assignment const& self, event e)
{
    e.worker = self.index;
    e.at = clock::now();
    if (::write(self.events, &e, sizeof e) != sizeof e)
        std::_Exit(1);  // nobody listens any more
}

class narrator final : public colock::observer {
public:
    explicit narrator(assignment const& self) : self_{self} {}

    void on_event(colock::client_event const& what) noexcept override
    {
        std::visit(
            colock::overloaded{
                [this](colock::events::waiting const& e) {
                    if (e.name == keys[story_key])
                        tell(self_, {.what = event::kind::waits, .key = story_key});
                },
                [this](colock::events::renewed const& e) {
                    if (e.name == keys[story_key])
                        tell(
                            self_,
                            {.what = event::kind::renewed, .key = story_key, .span = e.valid_for}
                        );
                },
                [this](colock::events::lost const& e) { lose(e.name); },
                [this](colock::events::found_lost const& e) { lose(e.name); },
                [](auto const&) {}},
            what
        );
    }

private:
    void lose(std::string_view name) const
    {
        for (std::uint8_t key = 0; key != keys.size(); ++key)
            if (name == keys[key])
                tell(self_, {.what = event::kind::lost, .key = key});
    }

    assignment const& self_;
};

colock::config settings(assignment const& self)
{
    auto made = colock::config::from_url(self.url);
    made.lease = lease;
    made.observer = std::make_shared<narrator>(self);
    return made;
}

/// The work under the lock. It reports from the inside: after the lock was taken and before it is
/// given back, or when the work is cancelled because the lock is lost.
class critical_section {
public:
    critical_section(assignment const& self, event entry) : self_{self}, told_{entry}
    {
        tell(self_, told_);
    }
    critical_section(critical_section const&) = delete;
    critical_section& operator=(critical_section const&) = delete;
    ~critical_section()
    {
        told_.what = event::kind::leaves;
        tell(self_, told_);
    }

private:
    assignment const& self_;
    event told_;
};

class worker {
public:
    worker(asio::io_context& context, assignment const& self)
        : context_{context}
        , self_{self}
        , redis_{context.get_executor(), settings(self)}
        , end_{context, SIGTERM}
    {}

    void start()
    {
        redis_.run(asio::detached);
        end_.async_wait([this](auto, int) { leaving_ = true; });
        for (std::uint8_t key = 0; key != story_key; ++key)
            for (int i = 0; i != 2; ++i)
                spawn(take_turns(key));
        if (self_.locking)
            spawn(play_story());
    }

private:
    asio::awaitable<void> take_turns(std::uint8_t key)
    {
        while (!leaving_) {
            co_await hold(key, 1ms + milliseconds{dice_() % 3});
            co_await until(clock::now() + milliseconds{dice_() % 8});
        }
    }

    asio::awaitable<void> play_story()
    {
        for (auto const& next : story[self_.index]) {
            co_await until(self_.start + next.begin);
            co_await hold(story_key, next.length);
        }
    }

    auto work_inside(std::uint8_t key, milliseconds time)
    {
        return [this, key, time, asked = clock::now()](colock::hold& held) {
            return inside(key, time, asked, held.fencing_token());
        };
    }

    asio::awaitable<void> hold(std::uint8_t key, milliseconds time)
    {
        if (!self_.locking) {
            co_await inside(key, time, clock::now(), 0);
            co_return;
        }
        try {
            colock::lock const lock{redis_, std::string{keys[key]}};
            co_await colock::with_lock(lock, work_inside(key, time));
        } catch (boost::system::system_error const& e) {
            if (e.code() != colock::error::lost)  // that one the observer has told
                throw;
        }
    }

    asio::awaitable<void> inside(
        std::uint8_t key, milliseconds time, time_point asked, std::uint64_t token
    )
    {
        event const entry{
            .what = event::kind::enters,
            .key = key,
            .section = ++sections_,
            .token = token,
            .span = clock::now() - asked};
        critical_section const here{self_, entry};
        co_await until(clock::now() + time);
    }

    asio::awaitable<void> until(time_point at)
    {
        asio::steady_timer timer{context_, at};
        co_await timer.async_wait(asio::deferred);
    }

    void spawn(asio::awaitable<void> coroutine)
    {
        ++running_;
        asio::co_spawn(context_, std::move(coroutine), [this](std::exception_ptr failure) {
            if (failure)
                std::rethrow_exception(failure);
            if (--running_ == 0)
                redis_.close(asio::detached);
        });
    }

    asio::io_context& context_;
    assignment const& self_;
    colock::client redis_;
    asio::signal_set end_;
    std::minstd_rand dice_{self_.index + 1U};
    std::uint32_t sections_ = 0;
    int running_ = 0;
    bool leaving_ = false;
};

}  // namespace

int work(assignment const& self)
{
    try {
        asio::io_context context{1};
        worker working{context, self};
        working.start();
        context.run();
        return 0;
    } catch (std::exception const& e) {
        std::fprintf(stderr, "worker %c: %s\n", 'A' + self.index, e.what());
        return 1;
    }
}

}  // namespace demo
