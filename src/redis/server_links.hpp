#pragma once

#include "redis/command_link.hpp"
#include "redis/push_link.hpp"
#include "redis/transport.hpp"

#include <cstddef>
#include <memory>
#include <vector>

namespace colock {

/// The connections to one server, opened as they are needed: a few command links, each for its
/// share of the hash slots, one for what waits for replicas, and one for pub/sub.
class server_links {
public:
    server_links(
        link_context const& context,
        command_link::listener& commands,
        push_link::listener& pushes,
        unsigned number,
        address const& where,
        publishing publish
    );

    /// Opens what is wanted already.
    void start();
    void stop();

    /// Stops what has nothing to do, until it is wanted again.
    void retire();

    void submit(step&);
    void want(unsigned slot) { open(link(slot)); }
    void want_push();
    void abandon() noexcept;

    /// Hands over steps that wait and are wanted elsewhere.
    template <class IsWanted>
    void take_waiting(step_list& into, IsWanted const& is_wanted)
    {
        for (auto const& each : links_)
            each->take_waiting(into, is_wanted);
    }

    command_link& link(unsigned slot) const noexcept { return *links_[slot % sharing_]; }
    bool has(command_link const&) const noexcept;
    push_link& push() noexcept { return *push_; }
    std::size_t links_up() const noexcept;

    /// All that were wanted are up.
    bool is_content() const noexcept;

private:
    void open(command_link&);

    std::size_t sharing_;                               ///< links among which the slots are shared
    std::vector<std::unique_ptr<command_link>> links_;  ///< those, and the one for rounds
    std::unique_ptr<push_link> push_;
    bool started_ = false;
    bool push_wanted_ = false;
};

/// Of each server: so many numbers do its links have.
inline std::size_t links_a_server(config const& settings) noexcept { return settings.links + 2; }

}  // namespace colock
