// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "simulated_server/server.hpp"
#include "support/fake_transport.hpp"

#include <cstdint>
#include <initializer_list>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace colock::test {

/// A Redis server for fake transports: it runs the real scripts, by the time of the test.
class script_server {
public:
    script_server();

    /// Answers what `to` writes; messages go to it too, and to those attached before.
    void attach(fake_transport& to);

    /// Runs a call: for tests that answer it by themselves, late or never.
    reply run(call const&);

    /// A command of somebody else.
    reply ask(std::initializer_list<std::string_view> words);

    /// It has been up since this moment; before, for long.
    void start_again();
    /// Its clock is so far ahead of the clients'.
    std::chrono::microseconds ahead{};

    // ---- Locks ---------------------------------------------------------------------------------

    bool is_locked(std::string const& key);
    std::set<std::string> fields(std::string const& key);
    milliseconds lease_left(std::string const& key);

    /// This field takes the lock, whoever had it; or that of somebody else.
    void occupy(std::string const& key, std::string_view field, milliseconds lease);
    void occupy(std::string const& key, milliseconds lease);

    /// Somebody frees it and publishes.
    void free(std::string const& key);

    /// All keys are gone, and nobody says so.
    void clear() { ask({"FLUSHALL"}); }

    /// Who wait for a fair lock.
    std::int64_t queue_length(std::string const& key);

    /// Of the lock that was asked for last.
    std::int64_t last_token();
    void draw_tokens(std::int64_t n);

    /// Of the locks of colock: by this way tests can count tokens.
    std::string way_to_draw{redisson_tokens};

    std::int64_t others = 0;  ///< who hear messages, beside the clients

    // ---- Counters ------------------------------------------------------------------------------

    void set_counter(std::string const& key, std::int64_t value);
    std::int64_t counter(std::string const& key);

    /// How many permits of this semaphore are out.
    std::int64_t permits_out(std::string const& name);

    /// Its clock, in microseconds.
    std::int64_t now() const { return time(); }

private:
    std::int64_t publish(std::string_view channel, std::string_view payload);
    std::int64_t time() const
    {
        // Each script takes a while, so that no two who wait have come at the same time.
        return (clock::now().time_since_epoch() + ahead) / std::chrono::microseconds{1} + calls_;
    }

    std::int64_t calls_ = 0;
    simulation::server redis_;
    std::vector<fake_transport*> clients_;
    std::string fence_;  ///< the counter of the last acquire
};

}  // namespace colock::test
