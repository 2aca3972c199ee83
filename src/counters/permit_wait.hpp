#pragma once

#include "core/subscription_manager.hpp"
#include "decide/crowd.hpp"
#include "decide/reply.hpp"
#include "waiting/wait_list.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace colock {

/// How the first of a queue for permits waits after a refusal: the client's place in the wait list
/// at the server, the channel of the semaphore or latch, and the time until it is worth asking.
class permit_wait final :
    private subscription_manager::listener,
    private wait_list::waiting_client {
public:
    /// `wake` ends a sleep. `on_message` gets those of the channel.
    permit_wait(
        core&,
        keyed_state const& whose,
        event<bool>& wake,
        std::function<void(std::string_view payload)> on_message
    );

    /// A wait begins.
    void begin() noexcept { others_.begin_wait(); }

    /// Nobody waits here any more.
    void end();

    // ---- An attempt ----------------------------------------------------------------------------

    /// The attempt is for so many permits; zero where there is no wait list.
    void stand_for(std::int64_t permits);

    /// The place to name in an attempt that is about to be sent.
    std::string_view place(bool once);

    /// Forgets the messages from before the attempt.
    void begin_attempt() noexcept { heard_ = never; }

    void granted() noexcept;

    /// `make_channel` says which channel to listen to, if that is not known yet.
    void refused(decide::acquire_answer const&, std::function<std::string()> const& make_channel);

    /// Subscribes as the refusal requires. True if a message may have been missed until now, so
    /// that the client has to ask once more.
    bool hears_anew(decide::acquire_answer const&);

    // ---- The sleep -----------------------------------------------------------------------------

    /// There may be something at that time, in ms from now, though nobody tells; none if negative.
    void expect(std::int64_t in);

    /// When to ask.
    time_point next();

    /// When to ask because of a message.
    time_point heard() const noexcept { return heard_; }

    /// A message, in a wait that ends at `deadline`.
    void note_message(std::string_view payload, time_point deadline);

private:
    void unsubscribe();
    void on_subscribed() override { wake_.set(true); }
    void on_message(std::string_view payload) override { on_message_(payload); }
    void on_interrupted() override {}  // the poll cap serves until it is confirmed again
    void on_turn(unsigned) override { wake_.set(true); }
    void on_unheard() override {}  // as above

    core& core_;
    keyed_state const& whose_;
    event<bool>& wake_;
    std::function<void(std::string_view)> on_message_;
    std::string channel_;              ///< once it had to wait
    std::optional<wait_list> list_{};  ///< as above
    std::string_view asked_{};         ///< the place that the attempt has named
    std::int64_t permits_ = 0;
    decide::crowd others_;
    time_point heard_ = never;
    time_point until_ = never;  ///< when it may change though nobody tells
    bool subscribed_ = false;
};

}  // namespace colock
