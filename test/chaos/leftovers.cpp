// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "chaos/leftovers.hpp"

namespace colock::test {

namespace {

/// By design: fencing counters, and for an hour the number of a client's last request.
bool is_kept(std::string const& key)
{
    return key.starts_with("colock_fence:") || key.starts_with("redisson_lock_token:") ||
        key.starts_with("colock_once");
}

std::string permits_left(redis_server& server, std::string const& name, int missing)
{
    auto const left = std::stoi("0" + server.ask("GET", name).text);
    if (left <= chaos_permits && left >= chaos_permits - missing)
        return {};
    return name + " with " + std::to_string(left) + " permits; ";
}

}  // namespace

std::string leftovers(redis_server& server, kind of, std::string const& name, int missing)
{
    std::string found;
    for (auto const& key : server.ask("KEYS", "*" + name + "*").items) {
        bool const has_count =
            key.text == name && (of == kind::semaphore || of == kind::permits || of == kind::latch);
        if (!is_kept(key.text) && !has_count)
            found += key.text + "; ";
    }
    if (of == kind::semaphore || of == kind::permits)
        found += permits_left(server, name, missing);
    return found;
}

std::string leftovers(client const& at, bool what_lingers)
{
    auto s = at.stats();
    if (!what_lingers)
        s.keys = s.subscriptions = 0;
    if (s.holds + s.waiters + s.keys + s.owed_releases + s.subscriptions == 0)
        return {};
    return "holds " + std::to_string(s.holds) + ", waiters " + std::to_string(s.waiters) +
        ", keys " + std::to_string(s.keys) + ", owed " + std::to_string(s.owed_releases) +
        ", subscriptions " + std::to_string(s.subscriptions) + "; ";
}

}  // namespace colock::test
