// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
// What goes wrong in the world, and how it comes right again.
#include "colock_scripts.hpp"
#include "simulation/world/simulated_transport.hpp"
#include "simulation/world/world.hpp"
#include <colock/fair_lock.hpp>
#include <colock/read_write_lock.hpp>

#include <algorithm>
#include <array>
#include <utility>

namespace colock::simulation {

using namespace std::chrono_literals;

namespace {

constexpr std::array refusals{
    "LOADING Redis is loading the dataset in memory",
    "BUSY Redis is busy running a script.",
    "OOM command not allowed when used memory > 'maxmemory'.",
    "MISCONF Redis is configured to save RDB snapshots, but it is unable to persist to disk.",
    "NOREPLICAS Not enough good replicas to write.",
    "READONLY You can't write against a read only replica.",
    "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."};

}  // namespace

std::vector<fault> draw_faults(scenario const& plan, dice d)
{
    std::vector<fault> all;
    unsigned weights = 0;
    for (auto const& [what, weight] : plan.faults)
        weights += weight;
    if (weights == 0)
        return all;
    int const nodes = plan.servers - 1 + plan.shards;
    moment at{};
    for (int number = 0;; ++number) {
        at += d.between(0ms, 2 * plan.between_faults);
        if (at >= plan.length)
            return all;
        auto drawn = d.below(weights);
        auto which = plan.faults.begin();
        for (; drawn >= which->second; ++which)
            drawn -= which->second;
        auto const lease = moment{plan.settings.lease};
        // Short ones are many; one in eight outlasts a lease.
        auto const lasts = d.percent(12) ? d.between(lease, 2 * lease) : d.between(1ms, lease / 2);
        all.push_back(
            {number,
             at,
             lasts,
             which->first,
             static_cast<int>(d.below(static_cast<std::uint64_t>(plan.machines))),
             static_cast<int>(d.below(static_cast<std::uint64_t>(nodes))),
             d.next()}
        );
    }
}

void world::begin(fault const& f)
{
    if (ending_)
        return;
    past_.note(
        time_.now(), f.machine, name_of(f.what), "", f.number, std::to_string(f.lasts / 1ms) + " ms"
    );
    ++faults_begun_;
    judge_.expect_losses();
    faults_now_ += f.lasts != moment{};
    dice d{f.dice};
    auto& at = *nodes_[static_cast<std::size_t>(f.node)];
    auto& who = processes_[static_cast<std::size_t>(f.machine)];
    auto const mine = [&f](line const& l) {
        return l.to_machine() == f.machine && l.to_node() == f.node;
    };
    auto const deployment = d.below(deployments_.size());
    switch (f.what) {
    case fault_kind::cut_commands:
        return net_.cut([&](line const& l) { return mine(l) && !l.is_push(); });
    case fault_kind::cut_pubsub:
        return net_.cut([&](line const& l) { return mine(l) && l.is_push(); });
    case fault_kind::cut_one: return net_.cut_one(mine, d.next());
    case fault_kind::part: return net_.part(f.machine, f.node, time_.now() + f.lasts);
    case fault_kind::slow:
        net_.now.slow = 1'000 + d.below(200'000);
        net_.now.slowest = d.between(1ms, 2 * moment{plan_.settings.lease});
        return;
    case fault_kind::lossy:
        net_.now.lost_requests = d.below(20'000);
        net_.now.lost_replies = d.below(20'000);
        net_.now.lost_messages = d.below(300'000);
        return;
    case fault_kind::stand_still:
        if (who)
            who->computer().stand_still_until(time_.now() + f.lasts);
        return;
    case fault_kind::suspend:
        if (who)
            who->computer().suspend(time_.now(), time_.now() + f.lasts);
        return;
    case fault_kind::die:
        if (who) {
            std::map<int, std::uint64_t> sections;
            for (auto const& u : who->users())
                sections[u->number()] = u->next_section();
            for (auto const& o : objects_)
                o->is_doubtful |= o->what == kind::semaphore;
            net_.cut([&f](line const& l) { return l.to_machine() == f.machine; });
            who.reset();
            time_.after(f.lasts, [this, machine = f.machine, sections] {
                if (!ending_)
                    populate(machine, sections);
            });
        }
        return;
    case fault_kind::destroy_client:
    case fault_kind::close_client:
        if (who) {
            for (auto const& o : objects_)
                o->is_doubtful |= o->what == kind::semaphore;
            ++lives_;
            auto const handlers = d.below(20);
            who->computer().interrupt(handlers, task{[p = who.get(), deployment, what = f.what] {
                                          what == fault_kind::close_client
                                              ? p->close_client(deployment)
                                              : p->replace_client(deployment);
                                      }});
        }
        return;
    case fault_kind::refuse: at.refusal = refusals[d.below(refusals.size())]; return;
    case fault_kind::forget_scripts: return at.forget_scripts();
    case fault_kind::server_down:
        at.is_down = true;
        return net_.cut([&f](line const& l) { return l.to_node() == f.node; });
    case fault_kind::lag: at.lagging = 1 + static_cast<unsigned>(d.below(2)); return;
    case fault_kind::late_replicas: at.replication = d.between(1ms, plan_.settings.lease); return;
    case fault_kind::fail_over: return at.fall_behind();
    case fault_kind::restart_empty:
        for (auto const& o : objects_)
            o->is_doubtful |= o->what == kind::semaphore;
        at.empty();
        at.is_down = true;
        return net_.cut([&f](line const& l) { return l.to_node() == f.node; });
    case fault_kind::clock_jump:
        ++at.losses.any;
        at.clock_offset += d.between(0s, 10s);
        return;
    case fault_kind::force:
        if (who) {
            auto const& o = *objects_[d.below(objects_.size())];
            auto const done = [](error_code, bool) {};
            if (o.what == kind::plain)
                lock{who->at(0), o.name}.force_release(done);
            if (o.what == kind::fair)
                fair_lock{who->at(0), o.name}.force_release(done);
            if (o.what == kind::read_write && d.percent(50))
                read_write_lock{who->at(0), o.name}.write().force_release(done);
            else if (o.what == kind::read_write)
                read_write_lock{who->at(0), o.name}.read().force_release(done);
        }
        return;
    case fault_kind::move_slot: {
        auto const& o = *objects_[d.below(objects_.size())];
        moving_slots_.insert(decide::slot_of(o.name));
        return;
    }
    }
}

void world::end(fault const& f)
{
    if (ending_)
        return;
    --faults_now_;
    calm_since_ = time_.now();
    dice d{f.dice};
    auto& at = *nodes_[static_cast<std::size_t>(f.node)];
    switch (f.what) {
    case fault_kind::slow:
    case fault_kind::lossy: net_.now = {}; return;
    case fault_kind::refuse: at.refusal.clear(); return;
    case fault_kind::server_down: at.is_down = false; return;
    case fault_kind::restart_empty: at.is_down = false; return make_counters_again();
    case fault_kind::lag: at.lagging = 0; return;
    case fault_kind::late_replicas: at.replication = usual_replication; return;
    case fault_kind::fail_over:
        for (auto const& o : objects_)
            o->is_doubtful |= o->what == kind::semaphore;
        at.fail_over();
        return net_.cut([&f](line const& l) { return l.to_node() == f.node; });
    case fault_kind::move_slot:
        d.below(deployments_.size());
        move_slot(decide::slot_of(objects_[d.below(objects_.size())]->name), f.node);
        return;
    default: return;
    }
}

// As somebody does who finds his semaphores gone.
void world::make_counters_again()
{
    for (auto const& o : objects_) {
        auto& at = owner_of(decide::slot_of(o->name));
        bool const is_counter = o->what == kind::semaphore || o->what == kind::permits;
        if (is_counter && at.ask({"EXISTS", o->name}).number == 0)
            at.ask({"SET", o->name, std::to_string(o->permits)});
    }
}

// The keys go over in one moment; the node ends the subscriptions of channels in that slot.
void world::move_slot(unsigned slot, int to)
{
    int const from = owner_of(slot).number();
    moving_slots_.erase(slot);
    if (from == to || to >= plan_.shards)
        return;
    auto& source = *nodes_[static_cast<std::size_t>(from)];
    auto& target = *nodes_[static_cast<std::size_t>(to)];
    keyspace left = source.data(), arrived = target.data();
    for (auto const& key : left.keys())
        if (decide::slot_of(key) == slot) {
            auto const& moved = *left.look_up(key);
            arrived.put(key, moved.content).expires_at = moved.expires_at;
            left.remove(key);
        }
    source.restore(std::move(left));
    target.restore(std::move(arrived));
    moved_slots_[slot] = to;
    source.end_subscriptions(slot);
}

void world::calm_down()
{
    net_.now = {};
    net_.heal();
    if (plan_.broken == mutant::messages_vanish)
        net_.now.lost_messages = 1'000'000;
    for (auto const& at : nodes_) {
        at->refusal.clear();
        at->is_down = false;
        at->lagging = 0;
        at->replication = usual_replication;
    }
    moving_slots_.clear();
    // Servers whose clocks differ for ever never agree on a token.
    moment ahead{};
    for (auto const& at : nodes_)
        ahead = std::max(ahead, at->clock_offset);
    for (auto& at : nodes_)
        at->losses.any += std::exchange(at->clock_offset, ahead) != ahead;
    make_counters_again();
    if (faults_now_ != 0)
        calm_since_ = time_.now();
    faults_now_ = 0;
}

}  // namespace colock::simulation
