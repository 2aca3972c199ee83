#pragma once

#include "base/clock.hpp"
#include "base/strand_task.hpp"
#include "decide/linked_list.hpp"
#include <colock/detail/initiate.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock {

using detail::core;

/// Looks in one call for many keys whether there is something to do: whether a lock is free, or its
/// wait list is lost. So a lost message costs a waiter at most the poll cap, and a look costs the
/// server one call for each 128 waiting keys.
///
/// It looks for each added key once per poll cap, until the key leaves. A client that waits for
/// more than 5,000 keys asks less often for those whose message is sure to come,
/// `decide::sure_interval`. Such a key waits longer than the poll cap only where there is no
/// message: after a DEL, say, or where it was told to a process that does not run.
class poller {
    struct in_ring;
    struct in_call;
    using place = decide::list_hook<in_ring>;
    using call_place = decide::list_hook<in_call>;

public:
    /// A key that is waited for. It may leave, or be destroyed, at any time.
    class entry : public place, public call_place {
    public:
        /// `name` has to live as long as the entry.
        entry(std::string_view name, unsigned slot) noexcept : name_{name}, slot_{slot} {}

        std::string_view name() const noexcept { return name_; }
        unsigned slot() const noexcept { return slot_; }
        bool is_polled() const noexcept { return place::is_linked(); }
        void leave() noexcept
        {
            if (!place::is_linked())
                return;
            place::unlink();
            --*count_;
        }

        /// Nothing is known: the key has to ask for itself.
        virtual void wake() = 0;

        /// It has to ask in so many ms.
        virtual void ask_in(std::int64_t ms) = 0;

        /// The key's wait list, this client's entry there if it stands there, and whether it hears
        /// the key's own channel.
        struct looked_for {
            std::string list, entry;
            bool hears = false;
        };
        virtual looked_for to_look_for() const = 0;

        /// The next release tells this client, by a mailbox that is live.
        virtual bool is_sure_to_be_told() const noexcept = 0;

    protected:
        ~entry() { leave(); }

    private:
        friend class poller;
        std::string_view name_;
        unsigned slot_;
        std::size_t index_ = 0;         ///< in the call under way
        std::size_t* count_ = nullptr;  ///< of such keys
        time_point asked_{};            ///< last, or added since
        time_point due_{};              ///< at the latest
        time_point kept_{};             ///< its list, by a call that named its entry
    };

    explicit poller(core& owner);
    ~poller();

    void add(entry&);

    /// Looks for this key at once.
    void hurry(entry&);

    /// How often it asks for such a key.
    milliseconds interval_of(entry const& key) const noexcept
    {
        return interval(key.is_sure_to_be_told());
    }

    /// The client stops: asks for nothing any more.
    void stop();

private:
    struct ring;
    using ring_key = std::pair<unsigned, bool>;
    using call_list = decide::linked_list<entry, call_place>;

    void run(ring&);
    void set_alarm(ring&);
    milliseconds interval(bool is_sure) const noexcept;
    void write(entry&, time_point now, std::vector<std::string>& to) const;
    static void put(entry&, call_list&);
    static void wake_all(ring&);
    static void wake(call_list&);
    strand_task ask(ring&);

    /// The texts of a call. They are copies, because a key may be gone before the call is sent.
    struct words {
        std::vector<std::string> names;
        std::vector<std::string> arguments;
    };
    words take_due(ring&, time_point now);

    core& core_;
    std::size_t sure_keys_ = 0, other_keys_ = 0;
    std::map<ring_key, std::unique_ptr<ring>> rings_;  ///< by lane, and of sure keys; permanent
};

}  // namespace colock
