// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "neighbour.hpp"
#include <redis/connection_loop.hpp>
#include <redis/link_context.hpp>
#include <redis/tls.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>

#include <core/alarm_clock.hpp>
#include <memory>
#include <utility>

namespace cli {

namespace asio = boost::asio;
using colock::error_code;

namespace {

/// One connection, whose questions are its first ones.
class talk final : private colock::connection_loop::listener {
public:
    talk(
        asio::io_context& on,
        colock::config settings,
        std::vector<std::vector<std::string>> questions
    )
        : settings_{std::move(settings)}
        , questions_{std::move(questions)}
        , strand_{asio::make_strand(on.get_executor())}
        , alarms_{strand_}
        , over_{on, asio::steady_timer::time_point::max()}
    {
        settings_.log = {};
        alarms_.run_while(life_);
    }
    ~talk()
    {
        if (loop_)
            loop_->detach();
        alarms_.shut_down();
    }

    asio::awaitable<void> run(std::chrono::milliseconds limit)
    {
        if (context_.prepare())
            co_return;
        loop_ = std::make_shared<colock::connection_loop>(
            context_,
            static_cast<colock::connection_loop::listener&>(*this),
            colock::connection_loop::description{"neighbour", settings_.addresses.front()}
        );
        over_.expires_after(limit);
        loop_->start();
        co_await over_.async_wait(asio::as_tuple(asio::deferred));
        loop_->stop();
        loop_->detach();
    }

    neighbour_answers found;

private:
    void write_probe(colock::resp::writer& to) override
    {
        found.asked = std::chrono::system_clock::now();
        for (auto const& each : questions_)
            to.push_range(each);
    }
    error_code judge_probe(colock::replies const& got) override
    {
        found.answered = std::chrono::system_clock::now();
        if (got.size() == questions_.size())
            found.replies = got;
        return {};
    }
    void on_up() override { over_.cancel(); }
    void on_down(error_code) override { over_.cancel(); }
    void on_failed(error_code) override { over_.cancel(); }

    colock::config settings_;
    std::vector<std::vector<std::string>> questions_;
    std::shared_ptr<int> life_ = std::make_shared<int>();
    colock::strand_type strand_;
    colock::alarm_clock alarms_;
    colock::paced_log log_{settings_.log, [](auto) {}};
    colock::link_context context_{
        strand_,
        settings_,
        log_,
        alarms_.alarms(),
        [this] { alarms_.arm(); },
        [] { return 0.5; },
        life_,
        [] { return false; },
        settings_.tls.enabled ? std::make_shared<colock::tls>(settings_.tls) : nullptr};
    asio::steady_timer over_;
    std::shared_ptr<colock::connection_loop> loop_;
};

}  // namespace

asio::awaitable<neighbour_answers> ask_neighbour(
    asio::io_context& on,
    colock::config settings,
    std::vector<std::vector<std::string>> questions,
    std::chrono::milliseconds limit
)
{
    settings.topology = colock::topology::single;
    settings.durability = colock::durability::none;
    auto const made = std::make_unique<talk>(on, std::move(settings), std::move(questions));
    co_await made->run(limit);
    co_return std::move(made->found);
}

}  // namespace cli
