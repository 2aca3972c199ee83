#include "base/paced_log.hpp"
#include "core/alarm_clock.hpp"
#include "redis/connection_loop.hpp"
#include "redis/link_context.hpp"
#include "redis/tls.hpp"
#include <colock/admin.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>

#include <memory>
#include <utility>

namespace colock {
inline namespace v0_3 {
namespace admin {

namespace asio = boost::asio;

namespace {

/// One connection, whose questions are its first ones.
class talk final : private connection_loop::listener {
public:
    talk(strand_type const& on, config settings, std::vector<std::vector<std::string>> questions)
        : settings_{std::move(settings)}
        , questions_{std::move(questions)}
        , strand_{on}
        , alarms_{strand_}
        , over_{strand_, asio::steady_timer::time_point::max()}
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
        if (settings_.addresses.empty() || context_.prepare())
            co_return;
        loop_ = std::make_shared<connection_loop>(
            context_,
            static_cast<connection_loop::listener&>(*this),
            connection_loop::description{"admin", settings_.addresses.front()}
        );
        over_.expires_after(limit);
        loop_->start();
        co_await over_.async_wait(asio::as_tuple(asio::deferred));
        loop_->stop();
        loop_->detach();
    }

    server_answers found;

private:
    void write_probe(resp::writer& to) override
    {
        found.asked = std::chrono::system_clock::now();
        for (auto const& each : questions_)
            to.push_range(each);
    }
    error_code judge_probe(replies const& got) override
    {
        found.answered = std::chrono::system_clock::now();
        if (got.size() == questions_.size())
            found.replies = got;
        return {};
    }
    void on_up() override { over_.cancel(); }
    void on_down(error_code) override { over_.cancel(); }
    void on_failed(failure) override { over_.cancel(); }

    config settings_;
    std::vector<std::vector<std::string>> questions_;
    std::shared_ptr<int> life_ = std::make_shared<int>();
    strand_type strand_;
    alarm_clock alarms_;
    paced_log log_{settings_.log, [](auto) {}};
    link_context context_{
        strand_,
        settings_,
        log_,
        alarms_.alarms(),
        [this] { alarms_.arm(); },
        [] { return 0.5; },
        life_,
        [] { return false; },
        settings_.tls.enabled ? std::make_shared<tls>(settings_.tls) : nullptr};
    asio::steady_timer over_;
    std::shared_ptr<connection_loop> loop_;
};

asio::awaitable<server_answers> ask_on(
    strand_type on,
    config settings,
    std::vector<std::vector<std::string>> questions,
    std::chrono::milliseconds limit
)
{
    auto const made = std::make_unique<talk>(on, std::move(settings), std::move(questions));
    co_await made->run(limit);
    co_return std::move(made->found);
}

}  // namespace

asio::awaitable<server_answers> ask_server(
    config settings,
    std::vector<std::vector<std::string>> questions,
    std::chrono::milliseconds limit
)
{
    settings.topology = topology::single;
    settings.durability = durability::none;
    settings.replicas.reset();
    strand_type const strand{asio::any_io_executor{co_await asio::this_coro::executor}};
    auto asked = ask_on(strand, std::move(settings), std::move(questions), limit);
    co_return co_await asio::co_spawn(strand, std::move(asked), asio::deferred);
}

}  // namespace admin
}  // namespace v0_3
}  // namespace colock
