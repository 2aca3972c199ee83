#pragma once

#include "redis/connection_loop.hpp"
#include "redis/transport.hpp"

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

namespace colock {

/// The connection that carries subscriptions, and nothing else: SUBSCRIBE, SSUBSCRIBE, their
/// contraries, and PING.
///
/// Each channel has its own command, because a refused channel must not affect others, and in a
/// cluster they have different slots. A push confirms it, or an error refuses it.
class pubsub_link final :
    private connection_loop::listener,
    private resp::push_handler,
    private resp::reply_handler {
public:
    class listener {
    public:
        virtual void on_pubsub_link_up(pubsub_link&) = 0;
        virtual void on_pubsub_link_down(pubsub_link&, error_code) = 0;
        virtual void on_pubsub_link_failed(pubsub_link&) {}  ///< to connect

        /// Its server was a primary, and is a replica by now. The link goes down.
        virtual void on_demoted(pubsub_link&) {}
        virtual void on_confirmed(pubsub_link&, std::string_view channel) = 0;
        virtual void on_refused(pubsub_link&, std::string_view channel, std::string_view why) = 0;
        virtual void on_changed(pubsub_link&) = 0;
        virtual void on_ended(pubsub_link&, std::string_view channel) = 0;
        virtual void on_published(
            pubsub_link&, std::string_view channel, std::string_view payload
        ) = 0;

    protected:
        ~listener() = default;
    };

    pubsub_link(
        link_context const& context, listener& who, std::string name, unsigned index, address where
    );
    ~pubsub_link();

    void start();
    void stop();
    void restart(error_code why) { loop_->restart(why); }

    /// As `connection_loop::renew`.
    bool renew_connection() { return loop_->renew(); }
    auto peer() const { return loop_->peer(); }

    /// The kind of channels of this change: plain, sharded or both.
    void change_subscriptions(subscription_change const&, publishing how);

    bool is_up() const noexcept { return loop_->is_up(); }
    bool is_started() const noexcept { return started_; }
    std::uint64_t epoch() const noexcept { return loop_->epoch(); }
    unsigned index() const noexcept { return index_; }
    address const& where() const noexcept { return loop_->where(); }
    bool is_primary_known() const noexcept { return loop_->is_primary_known(); }
    void follow(address const& primary)
    {
        if (where() != primary)
            loop_->move_to(primary);
    }

private:
    void write_probe(resp::writer&) override;
    error_code judge_probe(replies const&) override;
    void on_up() override;
    void on_down(error_code why) override;
    void on_failed(failure) override { listener_.on_pubsub_link_failed(*this); }
    void on_push(resp::message const&) override;
    bool is_answered_by(resp::message const& push) override;
    void on_reply(resp::message const&) override;
    void on_lost(error_code) override {}

    /// A command whose outcome has still to come.
    struct asked {
        std::string_view event;  ///< what confirms it
        std::string channel;
        bool confirms = false;  ///< its success is the channel's success
    };

    void send(std::string_view verb, asked what);
    void expect_pushes();
    void end_change();
    void end_plain_half(std::string_view channel);
    void look_at_role();
    void judge_role(decide::reply const& hello);

    link_context const& context_;
    listener& listener_;
    unsigned index_;
    std::shared_ptr<connection_loop> loop_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
    std::deque<asked> asked_;
    decide::alarm_queue::alarm role_look_{[this] { look_at_role(); }};
    bool both_ = false;      ///< each channel is subscribed in both kinds
    bool changing_ = false;  ///< a change is under way
    bool started_ = false;
};

}  // namespace colock
