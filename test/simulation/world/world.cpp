// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "decide/names.hpp"
#include "simulation/world/simulated_transport.hpp"
#include "simulation/world/world.hpp"
#include <colock/permit_semaphore.hpp>

#include <algorithm>
#include <utility>

namespace colock::simulation {

using namespace std::chrono_literals;

namespace {

bool is_only_forced(scenario const& plan)
{
    return !plan.faults.empty() && std::ranges::all_of(plan.faults, [](auto const& f) {
        return f.first == fault_kind::force;
    });
}

/// The world goes by true time; a process stands for a client's number in the history.
void replace(std::string& in, std::string_view what, std::string_view by)
{
    auto const at = in.find(what);
    if (at == in.npos)
        throw std::logic_error{"a script has changed, and can't be broken as before"};
    in.replace(at, what.size(), by);
}

}  // namespace

world::world(scenario const& plan, recipe const& how, std::ostream* operations)
    : plan_{plan}
    , how_{how}
    , dice_{how.seed}
    , net_{time_, dice_.apart(1).apart(how.luck)}
    , judge_{time_, past_, is_only_forced(plan_)}
{
    if (operations)
        past_.operations().write_to(*operations);
    faults_ = draw_faults(plan_, luck(2));
    net_.may_kill = plan_.may_kill;
    net_.held_up = plan_.held_up;
    net_.longest_hold_up = 2 * plan_.settings.lease;
    if (how_.length != moment{})
        plan_.length = how_.length;
    if (plan_.broken == mutant::messages_vanish)
        net_.now.lost_messages = 1'000'000;
    // Log lines would say the same as the history.
    plan_.settings.log = {[](log_level, std::string_view) {}, log_level::off};
    for (int i = 0; i != plan_.servers; ++i) {
        deployments_.emplace_back();
        for (int shard = 0; shard != (i == 0 ? plan_.shards : 1); ++shard)
            make_node(static_cast<std::size_t>(i));
    }
    make_objects();
    for (int m = 0; m != plan_.machines; ++m) {
        processes_.emplace_back();
        if (how_.without_machines.contains(m))
            continue;
        std::map<int, std::uint64_t> sections;
        for (int t = 0; t != plan_.tasks; ++t)
            if (int const number = m * plan_.tasks + t; !how_.without_tasks.contains(number))
                sections[number] = 0;
        populate(m, sections);
    }
}

// What would still happen refers to machines, and these to the network.
world::~world()
{
    processes_.clear();
    time_.clear();
    clock::fake({});
}

void world::make_node(std::size_t deployment)
{
    auto const number = static_cast<int>(nodes_.size());
    auto& made = *nodes_.emplace_back(std::make_unique<node>(number, time_, past_));
    deployments_[deployment].push_back(&made);
    if (plan_.broken != mutant::none)
        made.instead = [this](scripts::script const& what) { return broken_text(what); };
    made.wait_lies = plan_.broken == mutant::wait_lies;
    if (plan_.shards > 1 && deployment == 0)
        made.redirect = [this, number](unsigned slot) -> std::string {
            int const owner = owner_of(slot).number();
            if (owner != number)
                return "MOVED " + std::to_string(slot) + " node:" + std::to_string(owner);
            return moving_slots_.contains(slot) ? "TRYAGAIN the slot is on its way" : "";
        };
}

std::vector<node*> world::nodes_of(std::size_t deployment) const
{
    return deployments_.at(deployment);
}

node& world::owner_of(unsigned slot)
{
    auto const at = moved_slots_.find(slot);
    auto const number = at != moved_slots_.end()
        ? at->second
        : first_owner(slot, static_cast<std::size_t>(plan_.shards));
    return *nodes_[static_cast<std::size_t>(number)];
}

bool world::hands_over() const { return luck(4).percent(75); }

void world::make_objects()
{
    for (auto const& [what, count] : plan_.objects)
        for (int i = 0; i != count; ++i) {
            auto o = std::make_unique<object>();
            o->what = what;
            o->name = std::string{name_of(what)} + "-" + std::to_string(i);
            bool const is_spread = what == kind::multi || what == kind::red;
            o->at = is_spread ? std::vector<node*>{} : nodes_of(0);
            o->is_cluster = !is_spread && plan_.shards > 1;
            o->parts = {o->name};
            o->outlives_restarts = what == kind::red && plan_.settings.vote_after;
            if (is_spread) {
                o->parts.clear();
                for (std::size_t d = 0; d != deployments_.size(); ++d) {
                    o->at.push_back(deployments_[d].front());
                    o->parts.push_back(o->name);
                }
            }
            o->permits = plan_.permits;
            if (what == kind::semaphore || what == kind::permits) {
                owner_of(decide::slot_of(o->name))
                    .ask({"SET", o->name, std::to_string(o->permits)});
                past_.operations().set(o->name, o->permits, what == kind::permits);
            }
            objects_.push_back(std::move(o));
        }
}

void world::populate(int machine, std::map<int, std::uint64_t> const& sections)
{
    auto const worst = plan_.broken == mutant::slow_clock ? 40'000U : 10'000U;
    auto d = luck(500 + static_cast<std::uint64_t>(machine));
    auto drift =
        plan_.has_drift ? static_cast<int>(d.below(2 * worst + 1)) - static_cast<int>(worst) : 0;
    if (plan_.broken == mutant::slow_clock)
        drift = -40'000;
    auto& made = processes_[static_cast<std::size_t>(machine)];
    made = std::make_unique<process>(*this, machine, lives_++, drift);
    for (auto const& [number, first] : sections)
        made->add_user(number, first);
}

// ---- Time --------------------------------------------------------------------------------------

void world::run_until(moment end)
{
    while (time_.now() < end) {
        auto next = std::min(end, time_.next());
        process* first = nullptr;
        for (auto const& each : processes_)
            if (each)
                if (auto const wanted = each->computer().next(time_.now()); wanted < next) {
                    next = wanted;
                    first = each.get();
                }
        time_.go_to(next);
        if (first)
            first->computer().serve(next);
        else if (time_.next() <= next)
            time_.run_next();
        judge_.look();
        log_losses();
    }
}

void world::log_losses()
{
    auto& to = past_.operations();
    if (!to.is_on())
        return;
    logged_.resize(objects_.size());
    for (std::size_t i = 0; i != objects_.size(); ++i) {
        auto const& o = *objects_[i];
        auto const now = judge_.mishaps_of(o);
        auto const was = std::exchange(logged_[i], now);
        if (was.empty() || was == now)
            continue;
        bool const keeps = std::ranges::equal(was, now, [](auto const& a, auto const& b) {
            return a.losses.all == b.losses.all && a.forced == b.forced;
        });
        to.lose(o.name, time_.now(), keeps, o.what == kind::fenced);
    }
}

void world::run()
{
    // By the scenario's length: in a world that is cut short the same goes wrong until then.
    for (auto const& f : faults_)
        if (!how_.without_faults.contains(f.number) && f.at < plan_.length) {
            time_.at(f.at, [this, f] { begin(f); });
            if (f.lasts != moment{})
                time_.at(f.at + f.lasts, [this, f] { end(f); });
        }
    auto const between = plan_.settings.lease / 8;
    for (auto t = moment{}; t < plan_.length; t += between) {
        run_until(std::min(t + between, plan_.length));
        check_progress();
    }
    come_to_rest();
}

void world::check_progress()
{
    auto const since = faults_now_ == 0 ? calm_since_ : time_.now();
    for (auto const& p : processes_)
        for (auto const& u : p ? p->users() : std::vector<std::shared_ptr<user>>{})
            if (auto const began = u->waits_since(); began && !judge::may_stay_away(*u->wants()))
                if (time_.now() - std::max(*began, since) > plan_.longest_wait)
                    throw violation{
                        "progress",
                        "user " + std::to_string(u->number()) + " waits too long for " +
                            u->wants()->name,
                        u->wants()->name};
}

// ---- The end -----------------------------------------------------------------------------------

void world::come_to_rest()
{
    ending_ = true;
    calm_down();
    auto const is_quiet = [this] {
        return std::ranges::all_of(processes_, [](auto const& p) {
            return !p ||
                std::ranges::all_of(p->users(), [](auto const& u) { return u->is_idle(); });
        });
    };
    auto const limit = time_.now() + plan_.longest_wait + 6 * moment{plan_.settings.lease};
    while (!is_quiet()) {
        run_until(time_.now() + plan_.settings.lease / 8);
        check_progress();
        if (time_.now() > limit)
            throw violation{"progress", "there are users that never come to an end", ""};
    }
    // What lingers, what is owed, and the leases of those who died.
    run_until(
        time_.now() + 2 * moment{plan_.settings.linger} + 4 * moment{plan_.settings.lease} + 6s
    );
    check_stats();
    check_keys();
    close_all();
}

void world::check_stats()
{
    for (auto const& p : processes_)
        for (std::size_t d = 0; p && d != p->deployments(); ++d) {
            auto const s = p->at(d).stats();
            auto const left = [&](std::size_t n, char const* what) {
                if (n != 0)
                    throw violation{
                        "leftovers",
                        "client " + std::to_string(p->number()) + " ends with " +
                            std::to_string(n) + " " + what + p->what_is_kept(d),
                        ""};
            };
            left(s.holds, "holds");
            left(s.waiters, "waiters");
            left(s.keys, "keys");
            left(s.subscriptions, "subscriptions");
            left(s.owed_releases, "owed releases");
        }
}

void world::check_keys()
{
    bool const has_lost_data =
        std::ranges::any_of(nodes_, [](auto const& at) { return at->losses.any != 0; });
    auto const stays = [this, has_lost_data](std::string const& key) {
        for (auto const* prefix : {"colock_fence", "colock_once", "redisson_lock_token", "latch"})
            if (key.starts_with(prefix))
                return true;
        // If the last who wait for a lock die, and its holder, or if the server loses that they
        // have left, nobody takes their places out.
        for (auto const* prefix :
             {"colock_lock_tickets", "colock_wait", "redisson_lock_queue", "redisson_lock_timeout"})
            if (key.starts_with(prefix) && (lives_ > processes_.size() || has_lost_data))
                return true;
        // The permits of the dead come back when somebody asks for one.
        return std::ranges::any_of(objects_, [&key](auto const& o) {
            return (o->what == kind::semaphore && o->name == key) ||
                (o->what == kind::permits &&
                 (o->name == key || decide::permit_leases(o->name) == key));
        });
    };
    for (auto const& at : nodes_)
        for (auto const& key : at->data().keys())
            if (!stays(key))
                throw violation{
                    "leftovers", std::string{key} + " is left at the server", std::string{key}};
    for (auto const& o : objects_)
        for (auto* const at : o->at) {
            if (at->losses.any != 0 || o->is_doubtful)
                continue;
            if (o->what == kind::permits)
                check_permits(*o);
            if (o->what != kind::semaphore)
                continue;
            auto const left = at->ask({"GET", o->name});
            if (left.what == decide::reply::kind::text && left.text != std::to_string(o->permits))
                throw violation{
                    "permits", o->name + " ends with " + left.text + " permits", o->name};
        }
}

void world::check_permits(object const& o)
{
    auto const someone = std::ranges::find_if(processes_, [](auto const& p) { return !!p; });
    if (someone == processes_.end())
        return;
    auto const counted = std::make_shared<std::int64_t>(-1);
    permit_semaphore{(*someone)->at(0), o.name}.available([counted](error_code, std::int64_t n) {
        *counted = n;
    });
    run_until(time_.now() + 100ms);
    if (*counted != o.permits)
        throw violation{
            "permits", o.name + " ends with " + std::to_string(*counted) + " permits", o.name};
}

void world::close_all()
{
    auto const answered = std::make_shared<std::vector<error_code>>();
    std::size_t asked = 0;
    for (auto const& p : processes_)
        for (std::size_t d = 0; p && d != p->deployments(); ++d, ++asked)
            const_cast<client&>(p->at(d)).close([answered](error_code ec) {
                answered->push_back(ec);
            });
    run_until(time_.now() + 1s);
    for (auto const& ec : *answered)
        if (ec)
            throw violation{"closing", "closing ends with " + ec.message(), ""};
    if (answered->size() != asked)
        throw violation{"closing", "closing does not end", ""};
    for (auto const& p : processes_)
        for (std::size_t d = 0; p && d != p->deployments(); ++d)
            if (p->at(d).stats().links_up != 0)
                throw violation{"leftovers", "a connection is left", ""};
}

// ---- Broken on purpose -------------------------------------------------------------------------

std::string_view world::broken_text(scripts::script const& what)
{
    auto const by = [&](std::string_view name, std::string_view from, std::string_view to) {
        if (what.name != name)
            return std::string_view{};
        auto& text = broken_[what.sha1];
        if (text.empty()) {
            text = what.text;
            replace(text, from, to);
        }
        return std::string_view{text};
    };
    switch (plan_.broken) {
    case mutant::release_ignores_owner:
        return by("release", "pcall('hdel', lock, field)", "pcall('del', lock)");
    case mutant::turn_is_lost:
        if (!what.name.ends_with("release") || what.name == "fair_release" || ++releases_ % 25 != 0)
            return {};
        return by(what.name, "local counts = ", "do return false end local counts = ");
    case mutant::renewal_revives:
        return by(
            "renew",
            "local found = pcall('hexists', KEYS[i], ARGV[2 * i - 1])",
            "local found = redis.call('hset', KEYS[i], ARGV[2 * i - 1], 1) and 1"
        );
    case mutant::renewal_is_short:
        return by(
            "renew",
            "pcall('pexpire', KEYS[i], ARGV[2 * i])",
            "pcall('pexpire', KEYS[i], math.floor(ARGV[2 * i] * 0.75))"
        );
    case mutant::acquire_ignores_owner: return by("acquire", "pcall('hexists', lock, field)", "1");
    case mutant::grant_is_kept:
        if (++releases_ % 50 != 0)
            return {};
        return by("release", "local removed =", "local removed = 1 or");
    case mutant::permits_never_end:
        return by("semaphore_acquire", "open < tonumber(wanted)", "open + 1 < tonumber(wanted)");
    case mutant::latch_opens_early:
        return by("latch_count_down", "if left > 0 then", "if left > 1 then");
    case mutant::claim_stays: return by("adopt", "if from ~= to then", "if false then");
    case mutant::force_is_silent:  // plain or sharded
        return by(
            what.name.starts_with("force") ? what.name : "force", "== '9' then", "== '0' then"
        );
    case mutant::raise_is_ignored:
        return by("raise", "redis.call('set', counter, string.format('%.0f', token))", "");
    case mutant::all_vote: return by("raise", "tonumber(up or -1)", "1000000");
    default: return {};
    }
}

}  // namespace colock::simulation
