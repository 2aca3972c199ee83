// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "simulation/world/machine.hpp"
#include "simulation/world/user.hpp"
#include <colock/client.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace colock::simulation {

class world;

/// A program on a machine of its own: a client for each deployment, and the users of these. It is
/// destroyed as a process that is killed: nobody is told.
class process {
public:
    process(world& around, int number, std::uint64_t life, int drift);
    process(process const&) = delete;
    process& operator=(process const&) = delete;
    ~process();

    world& around() noexcept { return around_; }
    int number() const noexcept { return number_; }
    machine& computer() noexcept { return computer_; }
    client const& at(std::size_t deployment) const { return *clients_.at(deployment).made; }
    std::string const& uuid_at(std::size_t deployment) const
    {
        return clients_.at(deployment).uuid;
    }
    /// The names of what a client still knows, for a complaint.
    std::string what_is_kept(std::size_t deployment);

    /// Its clients renew nothing for ever (`config::max_hold`).
    bool limits_holds() const noexcept { return max_hold_.has_value(); }

    std::size_t deployments() const noexcept { return clients_.size(); }

    void add_user(int number, std::uint64_t first_section);
    std::vector<std::shared_ptr<user>> const& users() const noexcept { return users_; }

    /// The client goes, while its holds and operations are still there; a new one takes its place.
    void replace_client(std::size_t deployment);

    /// The same, in order: it is closed first.
    void close_client(std::size_t deployment);

private:
    struct known_client {
        std::unique_ptr<client> made;
        std::string uuid;
    };

    known_client make_client(std::size_t deployment);

    /// Goes last, after all that its stays refer to.
    struct memory {
        ~memory() { truth.forget(number); }
        judge& truth;
        int number;
    };

    world& around_;
    int number_;
    memory known_;
    dice dice_;
    std::optional<milliseconds> max_hold_, loss_margin_;
    machine computer_;
    std::vector<known_client> clients_;
    std::vector<std::shared_ptr<user>> users_;
};

}  // namespace colock::simulation
