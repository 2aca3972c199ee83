#pragma once

#include "core/core.hpp"
#include "redis/link_settings.hpp"
#include "redis/transport.hpp"

#include <boost/asio/post.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock {
inline namespace v0_3 {
namespace testing {

/// A transport whose server is in the same process: what goes over a connection elsewhere takes a
/// turn of the event loop here. A derived class says when steps are written, and gives the answers.
/// (All in the header: colock's own tests have it from here without linking colock::testing.)
class in_process_transport : public transport {
public:
    void submit(step& s) final
    {
        // As a link: the answer comes before this returns.
        if (auto const why = down_reason(s.slot); is_refusal(why))
            return s.answered.set({answer::kind::failed, {}, why, {}});
        waiting_.push_back(&s);
        if (!std::exchange(flushing_, true))
            later([this] { flush(); });
    }
    bool withdraw(step& s) noexcept final { return std::erase(waiting_, &s) != 0; }
    void want_link(unsigned) final {}
    unsigned pubsub_of(std::string_view) const noexcept final { return 0; }

    std::set<std::string> const& subscribed() const noexcept { return subscribed_; }

protected:
    in_process_transport(detail::core& inside, transport_listener& who)
        : listener_{who}
        , core_{inside}
    {}
    ~in_process_transport() override { *alive_ = false; }

    /// Runs it on the strand in a later turn, if this is still there.
    template <class F>
    void later(F f)
    {
        asio::post(
            core_.strand(),
            [alive = alive_, life = core_.weak_from_this(), f = std::move(f)]() mutable {
                auto const lives = life.lock();
                if (lives && *alive)
                    f();
            }
        );
    }

    /// False once this isn't there any more.
    std::shared_ptr<bool const> alive() const noexcept { return alive_; }

    // ---- Steps ---------------------------------------------------------------------------------

    void flush()
    {
        flushing_ = false;
        write_waiting();
    }

    /// Writes those of `waiting_` whose connection is up.
    virtual void write_waiting() = 0;

    void refuse_waiting()
    {
        for (auto* const s : std::exchange(waiting_, {}))
            s->answered.set({answer::kind::failed, {}, error::closed, {}});
    }

    void drop_waiting() noexcept
    {
        while (!waiting_.empty()) {
            auto* const s = waiting_.back();
            waiting_.pop_back();
            s->answered.destroy_waiting();
        }
    }

    // ---- Subscriptions -------------------------------------------------------------------------

    bool is_pubsub_up() const noexcept { return pubsub_up_; }
    bool is_changing() const noexcept { return changing_.has_value(); }

    void open_pubsub()
    {
        if (!std::exchange(pubsub_up_, true))
            listener_.on_pubsub_up(0, ++pubsub_epoch_);
    }

    void close_pubsub(error_code why)
    {
        if (!std::exchange(pubsub_up_, false))
            return;
        changing_.reset();
        subscribed_.clear();
        listener_.on_pubsub_down(0, why);
    }

    void begin_change(subscription_change const& what) { changing_ = what; }

    void answer_change()
    {
        if (!changing_)
            return;
        auto const asked = *std::exchange(changing_, {});
        for (auto const& channel : asked.unsubscribe)
            subscribed_.erase(channel);
        for (auto const& channel : asked.subscribe)
            if (is_forbidden(channel))
                listener_.on_refused(0, channel, "NOPERM");
            else {
                subscribed_.insert(channel);
                listener_.on_subscribed(0, channel);
            }
        listener_.on_changed(0);
    }

    /// The server refuses this channel.
    virtual bool is_forbidden(std::string const& /*channel*/) const { return false; }

    /// It arrives if the channel is subscribed then.
    void send_message(std::string const& channel, std::string payload)
    {
        later([this, channel, payload = std::move(payload)] {
            if (subscribed_.contains(channel))
                listener_.on_message(0, channel, payload);
        });
    }

    transport_listener& listener_;
    std::vector<step*> waiting_;  ///< handed over and not yet written

private:
    detail::core& core_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
    bool flushing_ = false;
    bool pubsub_up_ = false;
    std::uint64_t pubsub_epoch_ = 0;
    std::optional<subscription_change> changing_;
    std::set<std::string> subscribed_;
};

}  // namespace testing
}  // namespace v0_3
}  // namespace colock
