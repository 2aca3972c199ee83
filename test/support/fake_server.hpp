// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "support/fake_transport.hpp"

#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace colock::test {

/// A server that knows the scripts: locks with fields and leases, fence counters, subscribers.
class fake_server {
public:
    /// Answers what `to` writes; messages go to it too.
    void attach(fake_transport& to);

    struct lock_value {
        std::map<std::string, int> fields;
        time_point until = never;
    };
    bool is_locked(std::string const& key);
    std::set<std::string> fields(std::string const& key);

    /// Somebody else takes the lock, or frees it and publishes.
    void occupy(std::string const& key, milliseconds lease);
    void free(std::string const& key);

    std::map<std::string, lock_value> locks;
    std::int64_t last_token = 0;
    std::int64_t others = 0;  ///< who hear messages, beside the client

private:
    answer run(call const&);
    reply run_acquire(call const&);
    reply run_release(call const&);
    reply run_expiring(call const&);
    reply run_renew(call const&, std::size_t i);
    lock_value* find(std::string const& key);

    fake_transport* to_ = nullptr;
};

}  // namespace colock::test
