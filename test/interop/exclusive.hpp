// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "decide/names.hpp"
#include "integration/suites.hpp"
#include "interop/peer.hpp"

#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

// Each kind of lock, its name in Objects.java, and both sides of one.
namespace colock::test {

/// How long after a release the other side may take to get in. The machine may be busy: of several
/// rounds the one in the middle counts.
constexpr int rounds = 5;
constexpr std::int64_t longest_hand_over = 100;

/// A thread of Redisson's that doesn't sleep yet misses the message of a writer, and sleeps until
/// the lease ends that it was told of. So ours have a short one where Redisson waits.
constexpr milliseconds forgotten{3'000};

inline std::int64_t median(std::vector<std::int64_t> times)
{
    std::ranges::sort(times);
    return times.at(times.size() / 2);
}

template <class Clock>
std::int64_t ms_since(std::chrono::time_point<Clock> begin, std::chrono::time_point<Clock> end)
{
    return std::chrono::duration_cast<milliseconds>(end - begin).count();
}

/// How many are subscribed to a channel.
inline std::int64_t subscribers(redis_server& server, std::string const& channel)
{
    return server.ask("PUBSUB", "NUMSUB", channel).items.at(1).number;
}

struct plain {
    using lock_type = lock;
    static constexpr auto name = "lock";
    static std::string channel(std::string const& of) { return decide::lock_channel(of); }
};

struct fenced : plain {
    using lock_type = fenced_lock;
    static constexpr auto name = "fenced";
};

struct spinning : plain {
    using lock_type = spin_lock;
    static constexpr auto name = "spin";
};

struct fair : plain {
    using lock_type = fair_lock;
    static constexpr auto name = "fair";
};

struct writing {
    struct lock_type : write_lock {
        lock_type(client const& at, std::string of)
            : write_lock{read_write_lock{at, std::move(of)}.write()}
        {}
    };
    static constexpr auto name = "write";
    static std::string channel(std::string const& of) { return decide::read_write_channel(of); }
};

/// Both sides on one new name. By default the poll cap is 5 s: what is in sooner was woken.
template <class Kind>
struct beside : java_lab {
    template <class... Arguments>
    auto ask(std::string thread, std::string command, Arguments... arguments)
    {
        return java.ask(std::move(thread), std::move(command), Kind::name, name, arguments...);
    }
    template <class... Arguments>
    auto begin(std::string const& thread, std::string const& command, Arguments... arguments)
    {
        return java.begin(thread, command, Kind::name, name, arguments...);
    }

    /// How many wait, on either side: for a message, or in the queue of a fair lock.
    std::int64_t waiting(std::string const& of)
    {
        return std::is_same_v<Kind, fair> ? server().ask("LLEN", decide::fair_keys{of}.queue).number
                                          : subscribers(server(), Kind::channel(of));
    }
    std::int64_t waiting() { return waiting(name); }

    std::string const name = unique_name(Kind::name);
    java_peer& java = shared_java();
    running_client& c = connect(brief(settings()));
    typename Kind::lock_type const mine{c.client, name};
};

}  // namespace colock::test
