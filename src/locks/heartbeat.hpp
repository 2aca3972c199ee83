#pragma once

#include "base/clock.hpp"
#include "base/strand_task.hpp"
#include "decide/alarm_queue.hpp"
#include "decide/linked_list.hpp"
#include "decide/names.hpp"
#include "decide/reply.hpp"
#include "redis/transport.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace colock {

using detail::core;

/// Keeps the tickets of all fair locks alive, many tickets of a lane per call, each three times in
/// its life. So the place of a dead client blocks nobody for longer than one life.
///
/// The answer also tells what a waiter may have missed: that its turn has come, when it is worth
/// asking, or that its place is gone.
class heartbeat {
    using place = decide::list_hook<>;

public:
    /// The names of a ticket at the server.
    struct names {
        std::string field;
        std::string_view lock;
        decide::fair_keys const& keys;
        std::shared_ptr<void const> owner;  ///< of the lock's names
    };

    /// The ticket of a waiter, while it is kept alive.
    class ticket : public place {
    public:
        virtual std::shared_ptr<ticket> share() = 0;
        virtual unsigned slot() const noexcept = 0;
        virtual heartbeat::names names() const = 0;

        /// Grows in the order of arrival.
        virtual std::uint64_t number() const noexcept = 0;

        /// The server is reached again. A heartbeat will find out whether the place still exists.
        virtual void begin_revival() = 0;

        /// The answer to its heartbeat that was sent then; malformed: an unreadable answer.
        virtual void kept(decide::keep_answer const&, time_point sent) = 0;

        /// The heartbeat, or the link, was refused: the waiter has to ask for itself.
        virtual void look() = 0;

    protected:
        ~ticket() = default;

    private:
        friend class heartbeat;
        time_point due_{};
        std::uint64_t first_beat_ = 0;  ///< of those whose answers it is told
    };

    explicit heartbeat(core& owner);
    ~heartbeat();

    /// Adds a ticket that was alive then. It is kept alive until it is unlinked.
    void add(ticket&, time_point since);

    /// The servers of these slots are reached again: keeps all their tickets at once. The tickets
    /// of one lock go in the order of their arrival, because they ask again in that order if they
    /// have lost their places.
    void revive(slot_filter const& which);

    /// The client stops: keeps nothing alive any more.
    void stop();

private:
    struct ring;
    struct batch;
    using tickets = std::vector<std::shared_ptr<ticket>>;

    void revive(ring&, slot_filter const& which);
    void run(ring&);
    void look(ring&);
    tickets take_due(ring&, time_point now);
    strand_task beat(ring&, tickets some);

    core& core_;
    std::unordered_map<unsigned, std::unique_ptr<ring>> rings_;  ///< by lane, permanent
};

}  // namespace colock
