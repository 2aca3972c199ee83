#pragma once

#include "base/sequence.hpp"
#include "decide/agenda.hpp"
#include "decide/crowd.hpp"
#include "decide/reply.hpp"
#include "decide/taking.hpp"
#include "redis/transport.hpp"
#include "service/guest.hpp"
#include "service/question.hpp"
#include "service/resident.hpp"
#include "service/subscription_manager.hpp"

#include <boost/intrusive/list.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace colock {

/// What an answer says about who waits.
struct admission {
    enum class kind { granted, refused, malformed };

    kind what = kind::malformed;
    std::optional<milliseconds> until{};  ///< refused: when it may change though nobody tells
    std::int64_t subscribers = 0;         ///< refused: how many wait, as far as they were counted
};

/// How to get in: the part in which the objects differ that have a gate.
class entry_protocol {
public:
    virtual ~entry_protocol() = default;

    /// The channel on which a change is told.
    virtual std::string channel() const = 0;

    /// A new request, for this guest. What follows is about it, until the next.
    virtual void begin(guest const& first) = 0;

    /// The request, the first time and again.
    virtual question ask() const = 0;
    virtual admission read(decide::reply const&) const = 0;

    /// Until when the open request may be asked again or undone; then nothing of it is left, or
    /// nobody can tell.
    virtual time_point open_until(decide::taking const& open) const = 0;

    /// Whether the question takes nothing, and its answer is for all who waited when it was sent.
    virtual bool asks_for_all() const noexcept { return false; }

    /// Whether what the open request takes, or has taken, is what this guest wants.
    virtual bool fits(guest const& first, decide::taking const& open) const = 0;

    /// Lets in whom the request lets in: takes at least the first guest from the gate.
    virtual void give(gate&, decide::taking const& taken) = 0;

    /// What gives back whatever the open request has taken; nothing if it has taken nothing.
    virtual std::optional<question> undo(decide::taking const& open) = 0;
};

/// Where calls wait for one key of the server: a queue, whose first guest alone is asked for, and
/// the one request that is under way for him.
///
/// A guest may leave at any time. The request goes on: what it takes is for the next one who wants
/// just that, or is given back.
class gate final : public resident, private subscription_manager::listener {
public:
    gate(core& inside, std::string known_as, std::string name, std::unique_ptr<entry_protocol>);
    ~gate() override;

    std::string const& name() const noexcept { return name_; }
    core& inside() const noexcept { return core_; }

    /// Takes in a call.
    void admit(std::shared_ptr<guest> const&);

    /// A guest goes, for this reason; none: its wait ran out.
    void leave(guest&, error_code why);

    // ---- For the protocol ----------------------------------------------------------------------

    bool is_empty() const noexcept { return queue_.empty(); }

    guest const& first() const noexcept { return queue_.front(); }

    /// The first guest, who is no longer in the queue.
    std::shared_ptr<guest> pop();

    /// Tells the observer that it got what it waited for.
    void tell_acquired(guest const&) const;

    // ---- For the core --------------------------------------------------------------------------

    void on_link_up() override;
    void end_waiters(error_code) override;
    void release_all() override {}
    void abandon() noexcept override;

private:
    using action = decide::taking::action;

    sequence contend();
    /// Each is true if something is to be waited for before the next turn.
    bool conclude_request(answer const&);
    bool conclude_undo(answer const&);
    bool on_refused(admission const&);
    bool sleep_out();
    bool sleep(time_point longest);

    action decide_next();
    bool is_expired() const;
    void take_out(guest&);
    void count_attempt();
    void send_away_who_tried_once();
    void withdraw();
    void take_back_unsent();
    void wake() { wake_.set(true); }

    void on_subscribed() override { wake(); }
    void on_message(std::string_view) override;
    void on_interrupted() override {}  // the poll cap serves until it is confirmed again

    std::string name_;
    std::string channel_;
    std::unique_ptr<entry_protocol> protocol_;
    boost::intrusive::list<guest, boost::intrusive::constant_time_size<false>> queue_;
    decide::taking taking_;
    event<bool> wake_;
    decide::crowd others_;
    time_point heard_ = never;  ///< when to ask because of a message
    time_point until_ = never;  ///< when it may change though nobody tells
    decide::agenda::entry sleep_;
    decide::agenda::entry expiry_;  ///< of the open request
    step* sending_ = nullptr;
    std::uint32_t refusals_ = 0;  ///< for the moment, in a row
    bool undoing_ = false;        ///< what is being sent is not for a guest
    bool contending_ = false;
    bool sleeping_ = false;
    bool subscribed_ = false;
};

}  // namespace colock
