#pragma once

#include "redis/connection_loop.hpp"
#include "redis/transport.hpp"

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace colock {

/// The connection that carries subscriptions, and nothing else: SUBSCRIBE, SSUBSCRIBE, their
/// contraries, and PING.
///
/// Boost.Redis takes an error for the reply to whatever command is first in its queue, and knows
/// nothing of SSUBSCRIBE. So a change is one request that expects the one reply to a PING; the
/// commands, and a second PING that ends them, are in the text of its argument. All that comes
/// after the first reply is then in one stream, in the order of the wire: confirmations, errors,
/// messages and the last PING's answer. Only one request is under way at a time. The same request
/// without commands, on an idle link, shows that its receiver is alive.
class push_link final : private connection_loop::owner {
public:
    class listener {
    public:
        virtual void on_push_link_up(push_link&) = 0;
        virtual void on_push_link_down(push_link&) = 0;
        virtual void on_confirmed(push_link&, std::string_view channel) = 0;
        virtual void on_refused(push_link&, std::string_view channel, std::string_view why) = 0;
        virtual void on_changed(push_link&) = 0;
        virtual void on_ended(push_link&, std::string_view channel) = 0;
        virtual void on_published(std::string_view channel, std::string_view payload) = 0;

    protected:
        ~listener() = default;
    };

    push_link(
        link_context const& context, listener& who, std::string name, unsigned index, address where
    );
    ~push_link();

    void start();
    void stop();

    /// By plain channels, sharded ones or both, as of this change.
    void change(subscription_change const&, publishing how);

    bool is_up() const noexcept { return loop_->is_up(); }
    bool is_started() const noexcept { return started_; }
    unsigned index() const noexcept { return index_; }
    address const& where() const noexcept { return loop_->where(); }

private:
    void write_probe(boost::redis::request&) override;
    error_code judge_probe(connection_loop::replies const&) override;
    void prepare(std::shared_ptr<connection_loop::redis_connection>) override;
    void on_up() override;
    void on_down(error_code) override;
    void on_failed(error_code) override {}

    /// What came in over one connection, handed on when the message is whole.
    struct message {
        std::vector<std::string> words;
        bool is_error = false;
        bool is_push = false;
    };
    struct receiver {
        message next;
        std::vector<message> whole;
    };

    /// A command whose outcome has still to come.
    struct asked {
        std::string_view event;  ///< what confirms it
        std::string channel;
        bool confirms = false;  ///< its success is that of the channel
    };

    /// Commands, and what they ask for.
    struct outgoing {
        std::string commands;
        std::deque<asked> of;
    };

    void receive(std::shared_ptr<connection_loop::redis_connection>, std::shared_ptr<receiver>);
    void take(message const&);
    void take_event(std::string_view kind, std::string const& channel);
    static void add_command(outgoing& to, std::string_view verb, asked what);
    void send(outgoing what);
    void end_change();
    void check_later();

    link_context const& context_;
    listener& listener_;
    unsigned index_;
    std::shared_ptr<connection_loop> loop_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
    decide::agenda::entry check_;
    std::deque<asked> asked_;  ///< sent
    outgoing next_;            ///< is sent when the PING under way is answered
    std::uint64_t pings_ = 0;
    bool changing_ = false;  ///< a change is under way
    bool waiting_ = false;   ///< for the answer to the last PING
    bool started_ = false;
};

}  // namespace colock
