// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "decide/reply.hpp"
#include "simulation/server.hpp"
#include "support/redis_server.hpp"
#include "support/shared_memory.hpp"

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock::simulation {

using decide::reply;
using strings = std::vector<std::string>;

/// A server that is compared with another. Its wall clock stands still between two steps.
class subject {
public:
    virtual ~subject() = default;

    virtual void set_clock(std::int64_t microseconds) = 0;
    virtual reply command(strings const& words) = 0;
    virtual reply run(std::string_view script, strings const& keys, strings const& arguments) = 0;

    /// From now on it hears what is published there, or no longer.
    virtual void listen(audience, std::string const& channel, bool) = 0;

    /// What was heard since it was last asked, in order.
    virtual strings heard() = 0;

    /// Each key in order, with its type, PTTL and content.
    reply everything();
};

/// The server in process.
class simulated final : public subject {
public:
    simulated();

    void set_clock(std::int64_t microseconds) override { now_ = microseconds; }
    reply command(strings const& words) override;
    reply run(std::string_view script, strings const& keys, strings const& arguments) override;
    void listen(audience, std::string const& channel, bool) override;
    strings heard() override { return std::exchange(heard_, {}); }

private:
    std::int64_t now_ = 0;
    server server_{[this] { return now_; }};
    std::set<std::pair<audience, std::string>> channels_;
    strings heard_;
};

/// A server of its own with a wall clock of our making.
class real final : public subject {
public:
    explicit real(test::server_kind);

    void set_clock(std::int64_t microseconds) override;
    reply command(strings const& words) override { return server_->command(words); }
    reply run(std::string_view script, strings const& keys, strings const& arguments) override;
    void listen(audience, std::string const& channel, bool) override;
    strings heard() override;

private:
    test::temporary_file file_;
    test::shared_memory clock_{file_.path(), sizeof(std::int64_t)};
    std::unique_ptr<test::redis_server> server_;
    std::unique_ptr<test::redis_cli> ear_;
};

/// Whether both replies are the same. Numbers with a fraction, or beyond 64 bits, may be written
/// with other digits, and Valkey does not call itself Redis in its errors.
bool are_alike(reply const&, reply const&);

std::string to_string(reply const&);

}  // namespace colock::simulation
