#pragma once

#include "base/recycling.hpp"
#include "redis/transport.hpp"
#include <colock/detail/initiate.hpp>
#include <colock/detail/lock_id.hpp>
#include <colock/error.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace colock {

class presence;
using detail::core;

/// The purpose of a state. States of one name differ in it. The kinds of locks come first.
enum class state_kind : unsigned char {
    semaphore = 64,
    permit_semaphore,
    latch,
    updates,
    group,
    watch,
    adoption
};

constexpr state_kind state_of(detail::lock_kind kind) noexcept
{
    return static_cast<state_kind>(kind);
}

constexpr bool is_lock(state_kind kind) noexcept
{
    return kind <= state_of(detail::lock_kind::write);
}

/// Its client may have letters about it.
constexpr bool may_be_told(state_kind kind) noexcept
{
    return is_lock(kind) || kind == state_kind::semaphore || kind == state_kind::permit_semaphore;
}

/// The word for it in a client's report.
std::string_view word_of(state_kind) noexcept;

/// State that a client keeps for as long as it has something to do: a lock with its waiters, a
/// queue for permits or updates. Found by its kind and its name.
class keyed_state {
public:
    /// `slot`: none for that of the name.
    keyed_state(core& inside, state_kind, std::string name, std::optional<unsigned> slot = {});

    /// State that nobody looks for, under a name of its own. Any thread may make it, unless
    /// `client_stats::keys` counts its kind.
    keyed_state(core& inside, state_kind);
    keyed_state(keyed_state const&) = delete;
    keyed_state& operator=(keyed_state const&) = delete;
    virtual ~keyed_state() { stop_counting(); }

    state_kind kind() const noexcept { return kind_; }
    std::string const& name() const noexcept { return name_; }
    unsigned slot() const noexcept { return slot_; }

    /// It needs the server, or a caller waits for it. Otherwise it only remembers something.
    virtual bool is_in_use() const noexcept { return true; }

    /// Its server is reached again: it may be another one, and messages may have been missed.
    virtual void on_reached() {}

    /// Somebody has forced the lock. True if this state has the ownership with that number.
    virtual bool on_forced(std::uint64_t /*number*/) { return false; }

    /// A hold wants the ownership with that number, so nobody may give it back for what was before.
    virtual bool wants(std::uint64_t /*number*/) const noexcept { return false; }

    /// It is the turn of the request with that number; so many listen to the key's own channel.
    virtual void on_turn(std::uint64_t /*number*/, std::uint64_t /*listening*/) {}

    /// A mailbox of the client is live or is not any more, perhaps that of its slot.
    virtual void on_mailbox() {}

    /// Its first acquire sleeps, and a message wakes it.
    virtual bool awaits_message() const noexcept { return false; }

    /// Tells the client's report what it holds and the acquires that wait.
    virtual void tell(presence&) const {}

    /// Refuses new calls from now on.
    virtual void end_waiters(failure) {}

    /// The client closes, or rests: drops what it only remembers.
    virtual void forget() {}

    /// The client closes: releases its holds.
    virtual void release_all() {}

    /// Destroys handlers without calling them, because the context is destroyed.
    virtual void destroy_pending() noexcept {}

protected:
    /// It has nothing left to do: the client forgets it, which may destroy it.
    void unregister() noexcept;

    core& core_;

private:
    /// `client_stats::keys` counts locks and queues, from their making until they are forgotten.
    void stop_counting() noexcept;

    std::string name_;
    unsigned slot_;
    state_kind kind_;
    bool is_counted_;
};

/// All keyed state of a client.
class keyed_state_registry {
public:
    /// Nothing if there is none.
    keyed_state* find(state_kind, std::string_view name) const noexcept;
    void add(std::shared_ptr<keyed_state>);

    /// Removes it, if it is there.
    std::shared_ptr<keyed_state> remove(keyed_state&) noexcept;

    /// For state that nobody looks for. Counted for each client alone: the names decide the order
    /// in which the states are told, and a world of the simulator is the same whatever ran before
    /// it. Any thread may ask.
    std::string unused_name() { return std::to_string(++last_unnamed_); }

    /// A copy, because calls may add and drop entries.
    std::vector<std::shared_ptr<keyed_state>> all() const;
    bool is_empty() const noexcept { return known_.empty(); }
    bool is_in_use() const noexcept;

    /// Somebody has forced the lock of this name: true if one of its kinds has that ownership.
    bool forced(std::string_view name, std::uint64_t number) const;

    /// It is the turn of a request of this name.
    void on_turn(std::string_view name, std::uint64_t number, std::uint64_t listening) const;

    /// For the slot of each lock or semaphore that is held or waited for.
    template <class Call>
    void for_each_in_use(Call const& call) const
    {
        for (auto const& each : known_)
            if (may_be_told(each->kind()) && each->is_in_use())
                call(each->slot());
    }

    // The same call for all of them.
    void on_reached(slot_filter const&);
    void on_mailbox();
    void tell(presence&) const;
    void end_waiters(failure why);
    void forget();
    void release_all();
    void destroy_pending() noexcept;

private:
    using element = std::shared_ptr<keyed_state>;  // a million locks are a million of these

    /// Of a state, or of one that is looked for.
    struct key {
        key(state_kind k, std::string_view n) noexcept : kind{k}, name{n} {}
        // NOLINTNEXTLINE(google-explicit-constructor): a state has its key
        key(element const& of) noexcept : key{of->kind(), of->name()} {}

        friend bool operator==(key const&, key const&) = default;

        state_kind kind;
        std::string_view name;
    };
    struct hash {
        using is_transparent = void;
        std::size_t operator()(key const& k) const noexcept
        {
            return std::hash<std::string_view>{}(k.name) + static_cast<std::size_t>(k.kind);
        }
    };
    struct same {
        using is_transparent = void;
        bool operator()(key const& a, key const& b) const noexcept { return a == b; }
    };

    std::unordered_set<element, hash, same, recycling_allocator<element>> known_;
    std::atomic<std::uint64_t> last_unnamed_ = 0;
};

/// The state of this kind and name; `make` makes it if there is none.
template <class State, class Make>
State& find_or_make(
    keyed_state_registry& known, state_kind kind, std::string_view name, Make const& make
)
{
    if (auto* const found = known.find(kind, name))
        return static_cast<State&>(*found);
    std::shared_ptr<State> const made = make();
    known.add(made);
    return *made;
}

}  // namespace colock
