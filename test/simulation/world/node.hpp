// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "colock_scripts.hpp"
#include "simulated_server/server.hpp"
#include "simulation/world/history.hpp"
#include "simulation/world/timeline.hpp"

#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock::simulation {

/// Who hears a channel at a node.
class subscriber {
public:
    virtual void send(std::string_view channel, std::string_view payload) = 0;

    /// The node ends the subscription: its slot has gone elsewhere.
    virtual void end(std::string const& channel) = 0;

protected:
    ~subscriber() = default;
};

/// How long replicas take to acknowledge.
constexpr moment usual_replication = std::chrono::microseconds{500};

/// One server with what surrounds its keys: scripts that it knows, subscribers, replicas, the slots
/// that it serves, and what it refuses just now.
class node {
public:
    node(int number, timeline& time, history& past);
    node(node const&) = delete;
    node& operator=(node const&) = delete;

    int number() const noexcept { return number_; }

    struct outcome {
        std::vector<decide::reply> replies;
        moment held_back{};  ///< the last of them comes so much later, for it has waited
    };

    /// Runs the commands of one write.
    outcome run(std::string_view bytes);

    /// A command by itself, which nothing is in the way of: the judge's and the repairers'.
    decide::reply ask(std::initializer_list<std::string_view> words);

    keyspace const& data() { return redis_.data(); }
    keyspace const& stored() const noexcept { return redis_.stored(); }

    /// Grows with each change of its keys, and now and then without one.
    std::uint64_t changes() const noexcept { return changes_; }

    /// Other keys take the place of its own.
    void restore(keyspace keys)
    {
        ++changes_;
        redis_.restore(std::move(keys));
    }

    /// The true moment at which its clock has passed this, in ms since the epoch.
    moment after(std::int64_t shown) const noexcept;

    /// How many scripts and messages it has run and handed out.
    std::uint64_t scripts() const noexcept { return scripts_; }
    std::uint64_t messages() const noexcept { return messages_; }

    /// Microseconds since the epoch, as its clock shows them.
    std::int64_t wall_clock() const noexcept;

    // ---- Subscriptions -------------------------------------------------------------------------

    void subscribe(subscriber& who, std::string const& channel);
    void unsubscribe(subscriber& who, std::string const& channel);
    void forget(subscriber& who);

    /// Of the channels in a slot that has gone elsewhere.
    void end_subscriptions(unsigned slot);

    // ---- What goes wrong -----------------------------------------------------------------------

    std::string refusal;                     ///< what it says to each script, if it isn't empty
    bool is_down = false;                    ///< takes no connections
    moment clock_offset{};                   ///< of its wall clock
    unsigned replicas = 2;                   ///< that are there
    unsigned lagging = 0;                    ///< of them, those that get nothing just now
    moment replication = usual_replication;  ///< until the others acknowledge
    bool wait_lies = false;                  ///< all have acknowledged, whether they have or not
    /// How often it has lost something since its beginning.
    struct loss_counts {
        std::uint64_t any = 0;  ///< data, or time: its clock jumped
        std::uint64_t all = 0;  ///< all of its data
        bool operator==(loss_counts const&) const = default;
    };
    loss_counts losses;

    /// How often it has lost something, and somebody has forced this lock.
    struct mishaps {
        loss_counts losses;
        std::uint64_t forced = 0;
        bool operator==(mishaps const&) const = default;
    };
    mishaps mishaps_of(std::string_view lock) const;

    /// When it last granted this lock, or set its lease for a re-entry or an extension.
    moment set_at(std::string_view lock) const
    {
        auto const at = set_at_.find(lock);
        return at == set_at_.end() ? moment{} : at->second;
    }

    /// As they were when it granted this token; as they are, if somebody else drew it.
    mishaps mishaps_before(std::string_view lock, std::uint64_t token) const;

    /// When it granted this token, if it did.
    std::optional<moment> drawn_at(std::string_view lock, std::uint64_t token) const;

    void forget_scripts() { known_.clear(); }

    /// Whether somebody listens to it.
    bool is_heard(std::string_view channel) const { return heard_.contains(channel); }

    /// The replica that is promoted next gets nothing from now on.
    void fall_behind();
    void fail_over();
    void empty();

    /// What it says of keys in slots that are not its own; none: it serves all.
    std::function<std::string(unsigned slot)> redirect;

    /// The text that runs in place of this script, if it isn't empty: a server that is broken on
    /// purpose.
    std::function<std::string_view(scripts::script const&)> instead;

private:
    decide::reply run_one(std::span<std::string_view const> words, moment& held_back);
    decide::reply run_script(
        scripts::script const& what, std::span<std::string_view const> words, unsigned keys
    );
    decide::reply wait(std::int64_t wanted, std::int64_t patience, moment& held_back) const;
    void remember_grant(std::string_view name, std::uint64_t token);
    void
    note(scripts::script const& what, std::span<std::string_view const> words, unsigned keys, decide::reply const&);

    int number_;
    timeline& time_;
    history& past_;
    server redis_;
    std::set<std::string_view> known_;
    std::map<std::string, std::vector<subscriber*>, std::less<>> heard_;
    std::optional<keyspace> behind_;
    std::uint64_t changes_ = 0;
    std::uint64_t scripts_ = 0;
    std::uint64_t messages_ = 0;

    /// By name of the lock and by the last token of each draw, the latest ones.
    struct draw {
        moment at;
        mishaps before;
    };
    draw const* draw_of(std::string_view lock, std::uint64_t token) const;
    std::map<std::string, std::map<std::uint64_t, draw>, std::less<>> grants_;
    std::map<std::string, std::uint64_t, std::less<>> forced_;
    std::map<std::string, moment, std::less<>> set_at_;
};

}  // namespace colock::simulation
