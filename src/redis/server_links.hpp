#pragma once

#include "redis/command_link.hpp"
#include "redis/pubsub_link.hpp"
#include "redis/transport.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace colock {

/// The connections to one server, opened as they are needed: command links, among which the hash
/// slots are shared, and one for pub/sub.
///
/// With few steps under way one command link is best, because steps that go out together share a
/// write and a call. With many, client and server would wait for each other in turns, so more links
/// are used, up to `config::links`. Steps of one key must not overtake each other, so the slots are
/// redistributed only when nothing is under way: steps are held back until then, about a round
/// trip.
class server_links {
public:
    server_links(
        link_context const& context,
        command_link::listener& commands,
        pubsub_link::listener& pushes,
        unsigned number,
        address const& where,
        publishing publish
    );
    ~server_links() { *alive_ = false; }

    /// Opens the links that are wanted already.
    void start();
    void stop();

    /// The primary among several servers is there now: all links go there.
    void follow(address const& primary);

    /// This link has come up. If its server is not the one of the links that were up before, the
    /// address leads elsewhere by now: they all go there, because one of the two servers gives away
    /// what the other one holds.
    void note_server(command_link const& newest);

    /// The server there is a replica by now: drops its command links.
    void leave_replica(std::optional<connection::endpoint> const& peer);

    /// Stops idle links until they are wanted again.
    void retire();

    /// All of that has happened, and nothing that was sent may still run.
    bool is_over() const noexcept;

    void submit(step&);
    void want(unsigned slot) { open(link(slot)); }
    void want_pubsub();

    /// Keys whose slots have the same lane always share a link.
    unsigned lane_of(unsigned slot) const noexcept { return slot % static_cast<unsigned>(lanes_); }
    void destroy_pending() noexcept;

    /// Hands over waiting steps that belong to other links.
    template <class IsWanted>
    void take_waiting(step_list& into, IsWanted const& is_wanted)
    {
        for (auto const& each : links_)
            each->take_waiting(into, is_wanted);
        for (auto at = held_.begin(); at != held_.end();)
            if (step& s = *at++; is_wanted(s)) {
                s.unlink();
                into.push_back(s);
            }
    }

    command_link& link(unsigned slot) const noexcept { return *links_[slot % lanes_ % active_]; }
    bool has(command_link const&) const noexcept;
    pubsub_link& pubsub() noexcept { return *pubsub_; }
    std::size_t links_up() const noexcept;

    /// All wanted links are up.
    bool is_content() const noexcept;

private:
    void open(command_link&);
    void adapt(std::size_t under_way);
    void open_for(std::size_t links);
    bool can_share_anew() const noexcept;
    void on_answered();
    void share_anew();
    void give_up_sharing();
    void submit_held();
    void look_at_load();

    link_context const& context_;
    std::size_t lanes_;               ///< the most links among which the slots are shared
    std::size_t active_ = 1;          ///< how many of them are used now, from the first on
    std::size_t wanted_ = 1;          ///< how many are to be used
    std::size_t most_under_way_ = 0;  ///< on one link, since the load was last checked
    bool holding_ = false;            ///< steps are held back until nothing is under way …
    milliseconds hold_limit_;         ///< … no longer than this,
    time_point next_hold_{};          ///< and after that not again before this
    step_list held_;
    decide::alarm_queue::alarm look_;
    std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
    std::function<std::unique_ptr<command_link>(std::size_t, address const&)> make_link_;
    std::vector<std::unique_ptr<command_link>> links_;  ///< those that have been wanted so far
    std::string run_id_;  ///< of the server of the link that came up last
    std::unique_ptr<pubsub_link> pubsub_;
    bool started_ = false;
    bool pubsub_wanted_ = false;
};

/// Link numbers reserved per server.
inline std::size_t links_a_server(config const& settings) noexcept { return settings.links + 1; }

}  // namespace colock
