#pragma once

#include "redis/connection_loop.hpp"
#include "redis/transport.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace colock {

/// The connection that carries subscriptions, and nothing else: SUBSCRIBE, UNSUBSCRIBE and PING.
///
/// A refused SUBSCRIBE gets an error reply that Boost.Redis takes for that of the next command, so
/// each change ends with a PING of its own, only one is under way at a time, and after an error
/// the connection is made anew. The same PING, on an idle link, shows that its receiver is alive.
class push_link final : private connection_loop::owner {
public:
    push_link(link_context const& context, transport_listener& who);
    ~push_link();

    void start();
    void stop();
    void change(subscription_change const&);

    bool is_up() const noexcept { return loop_->is_up(); }
    std::uint64_t epoch() const noexcept { return loop_->epoch(); }

private:
    void write_probe(boost::redis::request&) override;
    error_code judge_probe(connection_loop::replies const&) override;
    void prepare(std::shared_ptr<connection_loop::redis_connection>) override;
    void on_up() override;
    void on_down(error_code) override;
    void on_refused(error_code) override {}

    /// The pushes of one connection, node by node; handed on when the message is whole.
    struct receiver {
        std::vector<std::string> words;
        std::vector<std::vector<std::string>> messages;
    };

    void receive(std::shared_ptr<connection_loop::redis_connection>, std::shared_ptr<receiver>);
    void deliver(receiver&);
    void send(boost::redis::request, bool is_change);
    void on_answer(connection_loop::replies const&, std::uint64_t number, bool is_change);
    void check_later();

    link_context const& context_;
    transport_listener& listener_;
    std::shared_ptr<connection_loop> loop_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
    decide::agenda::entry check_;
    std::uint64_t pings_ = 0;
    std::uint64_t answered_ = 0;
};

}  // namespace colock
