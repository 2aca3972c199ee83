// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "../../test_double/in_process_transport.hpp"
#include "client/client_access.hpp"
#include <colock/client.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace colock::test {

using decide::reply;

/// A step as it was written.
struct call {
    scripts::script const* what = nullptr;
    unsigned slot = 0;
    std::vector<std::string> keys, arguments;
    std::string tokens{};
    time_point sent{};
    bool is_whole = false;         ///< for many locks, as one step
    unsigned replicas = 0;         ///< that are to acknowledge it, by number, …
    milliseconds replica_limit{};  ///< … within this
    decide::copies wants{};        ///< the same with those that are asked for by level
    bool repeats = false;          ///< it may find its work done
    bool owes = false;             ///< it is answered without them

    std::string const& key() const { return keys.at(0); }
    std::string const& field() const { return arguments.at(what->traits.shares_first ? 1 : 0); }

    /// Of acquire, extend and renew.
    std::string const& lease() const;
    std::string const& depth() const { return arguments.at(1); }  ///< of extend
};

// What the scripts answer.
inline reply granted(std::int64_t token) { return reply::of(token); }
/// By one that does not know the wait list, of which the client is the first.
inline reply refused(std::int64_t pttl)
{
    return reply::of(std::vector{reply::of(pttl), reply::of(1), reply::of(7)});
}
inline reply released(std::int64_t receivers = 0) { return reply::of(receivers); }
inline reply gone() { return reply{}; }
inline reply done() { return reply::of(1); }
inline reply inspected(std::int64_t pttl, std::string_view mode = "", std::int64_t fields = 1)
{
    return reply::of(std::vector{reply::of(pttl), reply::of(mode), reply::of(fields)});
}
inline reply not_there() { return reply::of(std::int64_t{0}); }

class fake_transport;

/// A client over a fake transport, which `made` is told of.
detail::core_ptr make_core(
    asio::any_io_executor, config, std::function<void(fake_transport&)> const& made
);

/// What the next step is to be and what becomes of it. Without an answer it is held back, and
/// answered when the test calls one of the same functions later.
class expectation {
public:
    void reply(decide::reply r);
    /// Done, but too few replicas have it.
    void unsynced(decide::reply r, error_code why = error::not_replicated);
    void lose();
    void not_now();
    void fail(failure why);
    void out_of_memory();

    /// The step was written.
    bool has_come() const noexcept { return came_.has_value(); }
    call const& seen() const { return came_.value(); }

private:
    friend class fake_transport;
    expectation(fake_transport& t, scripts::script const& s) : transport_{t}, what_{s} {}
    void give(answer);

    fake_transport& transport_;
    scripts::script const& what_;
    std::optional<answer> answer_;
    std::optional<call> came_;
    step* waiting_ = nullptr;
};

/// A transport whose server is a script that the test writes down:
///
///     server.expect(scripts::acquire).reply(granted(7));
///     auto& late = server.expect(scripts::release);  // held back
///     …
///     late.lose();
///
/// Steps are written in the order of a link's batch, one pass of the event loop after they were
/// handed over, and answered one pass later. What is written without being expected goes to
/// `serve`, or is an error of the test. Links are up once started, until `link_down`.
class fake_transport final : public testing::in_process_transport {
public:
    fake_transport(core&, transport_listener&);
    ~fake_transport() override { destroy_pending(); }

    expectation& expect(scripts::script const&);

    /// Answers whatever isn't expected, one pass later; without an answer, `answer_call` does.
    /// Not set: an error of the test.
    std::function<std::optional<answer>(call const&)> serve;

    /// Answers the n-th of all that was written, if nobody has and its link is still the same.
    void answer_call(std::size_t n, answer);

    /// What a link does when the call for many was refused: the step waits to be written alone.
    void sent_alone(expectation&);

    /// All that was written, in order.
    std::vector<call> const& written() const noexcept { return written_; }
    std::size_t count(scripts::script const&) const noexcept;

    /// Steps handed over and not yet written.
    std::size_t unsent() const noexcept { return waiting_.size(); }
    std::size_t in_flight() const noexcept { return in_flight_.size(); }

    /// Expected and not yet written.
    bool all_came() const noexcept { return expected_.empty(); }

    // ---- Links ---------------------------------------------------------------------------------

    /// What `prepare` says, and how often it was asked.
    error_code prepared;
    int preparations() const noexcept { return preparations_; }

    unsigned link_of(unsigned slot) const noexcept;

    /// Links begin down and stay so until the test brings them up.
    void begin_down() { up_at_start_ = false; }
    void link_down(unsigned link, error_code why = asio::error::eof);
    void link_up(unsigned link);
    void all_down();
    void all_up();

    /// The server ends the old connection of a link that comes up again; otherwise what was lost
    /// with it may run at any time.
    bool ends_old_connections = true;

    /// What is owed to copies stays so until `cover`, or until its link is lost. Else they have it
    /// one pass after the answer.
    bool keeps_copies_back = false;
    void cover();

    /// Why an operation says that its link is down. If no waiting mends that, steps are answered
    /// with it at once, as by a link.
    error_code down_reason_to_tell = error::unavailable;

    // ---- Subscriptions -------------------------------------------------------------------------

    void pubsub_down();
    void pubsub_up();
    bool pubsub_wanted() const noexcept { return pubsub_wanted_; }

    /// Changes are answered by themselves, unless this is set; then by `confirm_change`.
    bool hold_changes = false;
    void confirm_change();
    std::vector<subscription_change> const& changes() const noexcept { return changes_; }

    /// The channels that the server refuses.
    std::set<std::string> forbidden;

    /// Somebody publishes; it arrives if the channel is subscribed.
    void publish(std::string const& channel, std::string payload = "0");

    // ---- transport -----------------------------------------------------------------------------

    error_code prepare() override
    {
        ++preparations_;
        return prepared;
    }
    void start() override;
    void stop() override;
    unsigned lane_of(unsigned slot) const noexcept override { return link_of(slot); }
    bool is_up(unsigned slot) const noexcept override { return up_[link_of(slot)]; }
    failure down_reason(unsigned slot) const noexcept override;
    void change_subscriptions(unsigned pubsub, subscription_change const&) override;
    void want_pubsub(unsigned pubsub) override;
    std::size_t links_up() const noexcept override;
    void destroy_pending() noexcept override;

private:
    friend class expectation;

    struct sent_step {
        step* what;
        std::size_t number;  ///< in `written`
        unsigned link;
        time_point sent;
        std::optional<answer> ready;  ///< delivered with the others of its turn
    };

    void write_waiting() override;
    void write(step&);
    std::optional<answer> answer_to(step&, call const&);
    void deliver_ready(unsigned link);
    void deliver(step&, answer);
    void open(unsigned link);
    void close(unsigned link, error_code why);
    void open_pubsub_if_wanted();
    void open_pubsub_if_started();
    bool is_forbidden(std::string const& c) const override { return forbidden.contains(c); }

    std::list<expectation> expectations_;  // all, so that the test's references stay good
    std::deque<expectation*> expected_;
    std::vector<call> written_;

    std::list<sent_step> in_flight_;
    std::vector<std::pair<unsigned, std::shared_ptr<owed_copies>>> owed_;  ///< and their links

    std::vector<bool> up_;
    std::vector<std::uint64_t> epochs_;
    std::vector<decide::connection_life> lives_;
    bool up_at_start_ = true;
    bool started_ = false;
    int preparations_ = 0;

    bool pubsub_wanted_ = false;
    std::vector<subscription_change> changes_;
};

/// RESP3 values as they stand on the wire.
namespace wire {

std::string text(std::string_view);
std::string number(std::int64_t);
std::string list(std::vector<std::string> const& values);
std::string push(std::vector<std::string> const& values);
std::string failure(std::string_view words);  ///< a simple error
inline std::string ok() { return "+OK\r\n"; }

/// A range of slots and the port of 127.0.0.1 that serves it.
struct slots {
    unsigned first = 0, last = 0;
    std::uint16_t port = 0;
};
/// The answer to CLUSTER SLOTS.
std::string slot_map(std::vector<slots> const&);

}  // namespace wire

/// The number of a script, in hexadecimal digits.
std::string sha1_of(std::string const& script);

/// Whether this is the sum of the plain lock's acquire script, in any of its forms.
bool is_sum_of_acquire(std::string_view sha1) noexcept;

/// What a healthy server answers. Each lock is free and each hold is there, so the server needs no
/// memory of them.
class usual_answers {
public:
    using words = std::vector<std::string>;

    std::string to(words const& command, std::size_t connection);

    std::string cluster_slots;  ///< the answer to CLUSTER SLOTS; empty: this is no cluster
    std::uint16_t primary = 0;  ///< what this Sentinel names; 0: this is no Sentinel

private:
    std::string to_client(words const&, std::size_t connection) const;
    std::string to_sentinel(words const&) const;
    std::string to_script(words const&);
    std::string to_subscriber(words const&) const;
    std::string info() const;

    std::int64_t last_token_ = std::int64_t{1} << 51;
};

}  // namespace colock::test
