// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "checker/checker.hpp"
#include "checker/judging.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <unordered_map>
#include <utility>

namespace colock::test {

namespace {

class checker {
public:
    checker(std::int64_t lease, std::set<std::uint32_t> queues)
        : lease_{lease}
        , queues_{std::move(queues)}
    {
        troubles_.lease = lease;
    }

    findings run(std::vector<event> const& history)
    {
        for (auto const& e : history)
            take(e);
        for (auto const& [number, key] : keys_)
            judge(number, key.attempts, troubles_, found_);
        judge_errors();
        judge_protection(history, lease_, found_);
        return std::move(found_);
    }

private:
    struct key_history {
        std::vector<recorded_attempt const*> attempts;
        std::multiset<std::int64_t> wanted_since;
        int inside = 0;
        bool queues = false;
        std::int64_t free_since = 0;
        ending last = ending::released;
    };

    void take(event const& e)
    {
        switch (e.kind) {
        case what::killed: return take_killed(e);
        case what::stopped: troubles_.stops[e.process].push_back({e.at, never_ends, true}); return;
        case what::resumed: return take_resumed(e);
        case what::stood_still: return take_standstill(e);
        case what::taken: return troubles_.taken.push_back(&e);
        case what::refused: return refusals_.push_back(&e);
        case what::fault_begins: return take_fault(e);
        case what::fault_is_over: --faults_; return void(healthy_since_ = e.at);
        default: break;
        }
        // Between the signal and its arrival a process gets a little further.
        if (killed_.contains(e.process))
            return;
        if (e.kind == what::asked)
            return take_asked(e);
        auto const found = attempts_.find(id_of(e));
        if (found == attempts_.end())
            return found_.complain(found_.malformed, "belongs to no attempt: " + to_string(e));
        take_later(e, found->second, keys_[e.key]);
    }

    /// Until it is over nobody need be served; so far somebody had to be.
    void take_fault(event const& e)
    {
        if (faults_++ == 0)
            for (auto& [number, key] : keys_)
                if (key.inside == 0 && !key.wanted_since.empty())
                    note_wait(key, *key.wanted_since.begin(), e.at);
    }

    void take_resumed(event const& e)
    {
        auto& stops = troubles_.stops[e.process];
        auto const open = std::ranges::find_if(stops, [](recorded_stop const& s) {
            return s.by_signal && s.end == never_ends;
        });
        if (open == stops.end())
            return found_.complain(found_.malformed, "was not stopped: " + to_string(e));
        open->end = e.at;
        found_.long_stops += open->end - open->begin > lease_ ? 1 : 0;
    }

    /// One that is shorter than the time between the notice and the end of the lease, which is a
    /// tenth of the lease at least, is no excuse.
    void take_standstill(event const& e)
    {
        auto& stops = troubles_.stops[e.process];
        auto by_itself = e.at - e.valid_until;
        for (auto const& s : stops)
            if (s.by_signal)
                by_itself -= std::max<std::int64_t>(
                    0, std::min(e.at, s.end) - std::max(e.valid_until, s.begin)
                );
        found_.longest_standstill = std::max(found_.longest_standstill, by_itself);
        stops.push_back({e.valid_until, e.at, false, e.at - e.valid_until < lease_ / 10});
    }

    void take_asked(event const& e)
    {
        auto& a = attempts_[id_of(e)];
        if (a.asked != never_ends)
            return found_.complain(found_.malformed, "asked twice: " + to_string(e));
        a.asked = e.at;
        a.process = e.process;
        a.shared = e.shared;
        auto& key = keys_[e.key];
        key.queues = queues_.contains(e.key);
        key.attempts.push_back(&a);
        key.wanted_since.insert(e.at);
        of_process_[e.process].insert({&a, &key});
    }

    void take_later(event const& e, recorded_attempt& a, key_history& key)
    {
        switch (e.kind) {
        case what::got: return take_got(e, a, key);
        case what::failed:
            if (a.is_hold() || a.end != never_ends)
                return found_.complain(
                    found_.malformed, "failed at the wrong time: " + to_string(e)
                );
            ++found_.failures;
            if (!e.well) {
                failed_.emplace_back(&a, &e);
                note_attempt(a, e);
            }
            key.wanted_since.erase(key.wanted_since.find(a.asked));
            return end(a, key, e.at, ending::released);
        case what::used: return take_used(e, a);
        case what::told: return take_told(e, a, key);
        case what::left: return end(a, key, e.at, ending::released);
        case what::released:
            if (!e.well && key.inside == 0)
                key.last = ending::lost;  // the server has it yet, perhaps
            return void(of_process_[e.process].erase(&a));
        default: return;
        }
    }

    void take_got(event const& e, recorded_attempt& a, key_history& key)
    {
        if (a.is_hold() || a.end != never_ends)
            return found_.complain(found_.malformed, "got at the wrong time: " + to_string(e));
        a.got = e.at;
        a.token = e.token;
        a.admitted_after = admitted_after(e, lease_);
        a.valid_until = e.valid_until;
        a.in_vain = e.valid_until <= e.at;
        ++found_.sections;
        note_attempt(a, e);
        auto const wanted = *key.wanted_since.begin();
        key.wanted_since.erase(key.wanted_since.find(a.asked));
        if (key.inside++ == 0 && faults_ == 0)
            note_wait(key, wanted, e.at);
    }

    void note_attempt(recorded_attempt const& a, event const& e)
    {
        auto& longest =
            queues_.contains(e.key) ? found_.longest_queued_attempt : found_.longest_attempt;
        longest = std::max(longest, e.at - a.asked);
    }

    void note_wait(key_history& key, std::int64_t wanted, std::int64_t at)
    {
        auto const waited = at - std::max({wanted, key.free_since, healthy_since_});
        auto& longest =
            key.queues ? found_.queued_wait_after(key.last) : found_.wait_after(key.last);
        longest = std::max(longest, waited);
    }

    void take_used(event const& e, recorded_attempt& a)
    {
        if (!a.is_hold())
            return found_.complain(found_.malformed, "used without a hold: " + to_string(e));
        if (e.valid_until <= e.at)
            found_.complain(found_.used_after_validity, "used after its validity: " + to_string(e));
        if (has_slept_through_its_lease(a, e.at))
            found_.complain(found_.used_after_stop, "used after a stop: " + to_string(e));
        ++(e.accepted ? found_.writes : found_.refused_writes);
        (e.accepted ? a.writes : a.refused_writes).push_back(&e);
    }

    void take_told(event const& e, recorded_attempt& a, key_history& key)
    {
        ++found_.told;
        if (a.is_hold() && a.end == never_ends && has_slept_through_its_lease(a, e.at))
            ++found_.told_after_stop;
        end(a, key, e.at, ending::lost);
    }

    bool has_slept_through_its_lease(recorded_attempt const& a, std::int64_t at) const
    {
        auto const stops = troubles_.stops.find(a.process);
        return stops != troubles_.stops.end() &&
            std::ranges::any_of(stops->second, [&](auto const& s) {
                   return s.begin > a.got && s.end < at && s.end - s.begin > lease_;
               });
    }

    /// The first end counts: who has been told and then releases was told.
    void end(recorded_attempt& a, key_history& key, std::int64_t at, ending how)
    {
        if (a.end != never_ends)
            return;
        a.end = at;
        a.how = how;
        if (!a.is_hold())
            return void(of_process_[a.process].erase(&a));
        if (--key.inside == 0) {
            key.free_since = at;
            key.last = how;
        }
    }

    void take_killed(event const& e)
    {
        for (auto const& [a, key] : of_process_[e.process]) {
            if (!a->is_hold() && a->end == never_ends)
                lose_waiter(*a, *key, e.at);
            // Its release may not have been sent.
            if (a->end != never_ends && key->inside == 0)
                key->last = ending::killed;
            end_quietly(*a, *key, e.at);
        }
        of_process_.erase(e.process);
        killed_.insert(e.process);
    }

    void lose_waiter(recorded_attempt const& a, key_history& key, std::int64_t at)
    {
        if (key.queues && key.inside == 0) {
            if (faults_ == 0)
                note_wait(key, *key.wanted_since.begin(), at);
            key.free_since = at;
            key.last = ending::killed;
        }
        key.wanted_since.erase(key.wanted_since.find(a.asked));
    }

    void end_quietly(recorded_attempt& a, key_history& key, std::int64_t at)
    {
        if (a.end != never_ends)
            return;
        a.end = at;
        a.how = ending::killed;
        if (a.is_hold() && --key.inside == 0) {
            key.free_since = at;
            key.last = ending::killed;
        }
    }

    /// An error is in order where the server refused requests at some time of the attempt.
    void judge_errors()
    {
        for (auto const& [a, e] : failed_) {
            bool const is_refused = std::ranges::any_of(refusals_, [&](event const* r) {
                return a->asked <= r->at && r->valid_until <= e->at;
            });
            if (is_refused)
                ++found_.errors_of_refusals;
            else
                found_.complain(found_.errors, "error: " + to_string(*e));
        }
    }

    static std::uint64_t id_of(event const& e)
    {
        return (std::uint64_t{e.process} << 32) | e.attempt;
    }

    std::int64_t lease_;
    std::set<std::uint32_t> queues_;
    findings found_;
    std::unordered_map<std::uint64_t, recorded_attempt> attempts_;
    std::map<std::uint32_t, key_history> keys_;
    std::map<std::uint32_t, std::map<recorded_attempt*, key_history*>> of_process_;  ///< not ended
    std::set<std::uint32_t> killed_;
    recorded_troubles troubles_;
    std::vector<event const*> refusals_;
    std::vector<std::pair<recorded_attempt const*, event const*>> failed_;
    int faults_ = 0;
    std::int64_t healthy_since_ = 0;
};

}  // namespace

void findings::complain(std::int64_t& count, std::string const& example)
{
    ++count;
    if (examples.size() < 10)
        examples.push_back(example);
}

findings check(
    std::vector<event> const& history, std::int64_t lease, std::set<std::uint32_t> queues
)
{
    return checker{lease, std::move(queues)}.run(history);
}

std::string to_string(findings const& f)
{
    std::ostringstream text;
    text << f.sections << " sections, errors " << f.errors << " (of refusals "
         << f.errors_of_refusals << "), violations " << f.violations << " (of what was taken "
         << f.violations_of_taken << "), in vain " << f.in_vain << " (for no reason "
         << f.in_vain_for_no_reason << "), overlaps " << f.overlaps << " (of stopped processes "
         << f.overlaps_of_stopped << "; the others for at most " << f.longest_overlap / 1'000'000
         << " ms), told lost " << f.told << " (" << f.told_after_stop << " after long stops, which "
         << f.slept_through << " slept through, unaware " << f.unaware_after_stop << ")"
         << ", writes " << f.writes << ", refused " << f.refused_writes << " (of running processes "
         << f.refused_writes_of_running << "), stale " << f.stale_writes
         << ", tokens that don't rise " << f.tokens_not_rising << ", out of turn "
         << f.tokens_out_of_turn << ", used after validity " << f.used_after_validity
         << ", used after " << f.long_stops << " long stops " << f.used_after_stop
         << ", longest standstill " << f.longest_standstill / 1'000'000 << " ms, hung " << f.hung
         << ", longest attempt " << f.longest_attempt / 1'000'000 << " ms, in a queue "
         << f.longest_queued_attempt / 1'000'000 << " ms, malformed " << f.malformed
         << ", longest wait for a lock that nobody has: after a release "
         << f.longest_wait[0] / 1'000'000 << ", a loss " << f.longest_wait[1] / 1'000'000
         << ", a kill " << f.longest_wait[2] / 1'000'000 << " ms (in a queue "
         << f.longest_queued_wait[0] / 1'000'000 << ", " << f.longest_queued_wait[1] / 1'000'000
         << ", " << f.longest_queued_wait[2] / 1'000'000 << " ms)";
    return text.str();
}

}  // namespace colock::test
