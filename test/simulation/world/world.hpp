// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "simulation/world/judge.hpp"
#include "simulation/world/network.hpp"
#include "simulation/world/process.hpp"
#include "simulation/world/scenario.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <vector>

namespace colock::simulation {

/// One fault of the plan.
struct fault {
    int number;
    moment at, lasts;
    fault_kind what;
    int machine, node;
    std::uint64_t dice;  ///< whatever else is drawn for it
};

std::vector<fault> draw_faults(scenario const&, dice);

/// Servers, machines and all that happens among them: made by a scenario and a seed, run to its
/// end, and judged.
class world {
public:
    /// \param operations where they are written, if anywhere
    world(scenario const&, recipe const&, std::ostream* operations = nullptr);
    world(world const&) = delete;
    world& operator=(world const&) = delete;
    ~world();

    /// Throws a violation.
    void run();

    // ---- What its inhabitants see --------------------------------------------------------------

    scenario const& plan() const noexcept { return plan_; }
    recipe const& how() const noexcept { return how_; }
    timeline& time() noexcept { return time_; }
    network& net() noexcept { return net_; }
    history& past() noexcept { return past_; }
    judge& truth() noexcept { return judge_; }
    dice luck(std::uint64_t purpose) const noexcept { return dice_.apart(purpose); }
    std::vector<std::unique_ptr<object>> const& objects() const noexcept { return objects_; }

    /// The nodes of the n-th deployment.
    std::vector<node*> nodes_of(std::size_t deployment) const;
    std::size_t deployments() const noexcept { return deployments_.size(); }

    /// Clients hand locks over, and some have older ids: in three of four worlds. In the others
    /// every release of a wanted lock tells the first of the list.
    bool hands_over() const;

    /// No new sections: all comes to rest.
    bool is_ending() const noexcept { return ending_; }

    /// Nothing has gone wrong so far.
    bool is_untroubled() const noexcept { return faults_begun_ == 0; }

    /// How long it was lived in, before all came to rest.
    moment lived() const noexcept { return std::min(time_.now(), plan_.length); }

    void count_section() noexcept
    {
        ++sections_;
        last_section_ = time_.now();
    }
    std::uint64_t sections() const noexcept { return sections_; }

    /// When somebody got in last.
    moment last_section() const noexcept { return last_section_; }

private:
    node& owner_of(unsigned slot);  ///< at the first deployment
    void make_objects();
    void make_node(std::size_t deployment);
    std::string_view broken_text(scripts::script const&);
    void populate(int machine, std::map<int, std::uint64_t> const& sections);
    void run_until(moment end);
    void check_progress();
    void log_losses();
    void come_to_rest();
    void check_stats();
    void check_keys();
    void check_permits(object const&);
    void close_all();

    void begin(fault const&);
    void end(fault const&);
    void make_counters_again();
    void move_slot(unsigned slot, int to);
    void calm_down();

    scenario plan_;
    recipe how_;
    dice dice_;
    history past_;
    timeline time_;
    network net_;
    judge judge_;
    std::vector<std::unique_ptr<node>> nodes_;
    std::vector<std::vector<node*>> deployments_;
    std::map<unsigned, int> moved_slots_;
    std::set<unsigned> moving_slots_;
    std::vector<std::unique_ptr<object>> objects_;
    std::vector<std::unique_ptr<process>> processes_;
    std::map<std::string_view, std::string> broken_;
    std::vector<fault> faults_;
    bool ending_ = false;
    int faults_begun_ = 0;
    int faults_now_ = 0;
    moment calm_since_{};
    std::vector<std::vector<node::mishaps>> logged_;  ///< of each object
    std::uint64_t sections_ = 0;
    moment last_section_{};
    std::uint64_t lives_ = 0;
    std::uint64_t releases_ = 0;  ///< for a mutant
};

}  // namespace colock::simulation
