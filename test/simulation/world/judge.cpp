// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "decide/names.hpp"
#include "decide/permit_id.hpp"
#include "simulation/world/judge.hpp"
#include "support/as_hold.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>

namespace colock::simulation {

namespace {

/// Nothing ends then: what a server has no more.
constexpr moment gone{-1};

/// At most so many hold it at a time, none of them alone.
bool is_counted(kind what) noexcept { return what == kind::permits; }

std::string seconds_of(moment t)
{
    return std::to_string(t / std::chrono::microseconds{1}) + " us";
}

}  // namespace

// ---- Exclusion ---------------------------------------------------------------------------------

// The clock that counts suspensions, as its machine has it: not the caller's steady clock.
time_point judge::shown_by(stay const& s)
{
    auto const until = s.held->valid_until();
    return until == time_point{} ? until : until + clock::suspended();
}

// What is lost or released says that its validity was over long ago.
moment judge::trusts_until(stay const& s) const
{
    auto const shown = shown_by(s);
    // Strictly before it the hold is valid.
    return shown == time_point{} ? moment{-1} : s.by->when(shown) - moment{1};
}

// What all replicas have acknowledged is lost only with all of them: the grant, and each renewal by
// which the hold is valid.
bool judge::has_lost(stay const& s, std::size_t server) const
{
    auto const& at = *s.of->at[server];
    auto const& before = s.before[server].losses;
    return is_everywhere(s, at) ? at.losses.all != before.all : at.losses.any != before.any;
}

bool judge::is_everywhere(stay const& s, node const& at) const
{
    return s.synced >= static_cast<int>(at.replicas);
}

std::size_t judge::parts_lost(stay const& s) const
{
    std::size_t lost = 0;
    for (std::size_t i = 0; i != s.of->at.size(); ++i)
        lost += has_lost(s, i);
    return lost;
}

// A server that lost data, or whose clock jumped, excuses what it had granted before, unless
// replicas had acknowledged it. Who has a lock at several servers loses it with the last of them.
bool judge::is_excused(stay const& s) const
{
    if (s.of->outlives_restarts)
        return has_clock_jumped(*s.of);
    auto const lost = parts_lost(s);
    return is_forced(s) || (s.of->what == kind::multi ? lost == s.of->at.size() : lost != 0);
}

bool judge::is_forced(stay const& s) const
{
    for (std::size_t i = 0; i != s.of->at.size(); ++i)
        if (s.of->at[i]->mishaps_of(part_at(*s.of, i)).forced != s.before[i].forced)
            return true;
    return false;
}

// All nodes of a cluster may have its one part.
std::string const& judge::part_at(object const& o, std::size_t server)
{
    return o.parts[std::min(server, o.parts.size() - 1)];
}

bool judge::excludes(stay const& a, stay const& b) const
{
    return a.of == b.of && !is_same_owner(a, b) && (a.writes || b.writes);
}

bool judge::is_same_owner(stay const& a, stay const& b)
{
    return a.owner != 0 && a.owner == b.owner;
}

std::vector<node::mishaps> judge::mishaps_of(object const& o) const
{
    std::vector<node::mishaps> all;
    for (std::size_t i = 0; i != o.at.size(); ++i)
        all.push_back(o.at[i]->mishaps_of(part_at(o, i)));
    return all;
}

judge::place judge::enter(stay s)
{
    auto& o = *s.of;
    // The parts of a red lock are taken before the token that they are raised to.
    for (std::size_t i = 0; i != o.at.size() && o.what != kind::red; ++i)
        if (auto const token = test::token_of(*s.held, std::min(i, o.parts.size() - 1)); token != 0)
            s.before[i] = o.at[i]->mishaps_before(part_at(o, i), token);
    s.granted_until = s.ends = trusts_until(s);
    s.forces = forces_of(s);
    s.number = log(s);
    past_.note(
        time_.now(),
        s.client,
        s.writes ? "gets" : "gets to read",
        o.name,
        static_cast<std::int64_t>(s.held->fencing_token()),
        seconds_of(trusts_until(s) - time_.now())
    );
    ++grants_;
    auto const now = time_.now();
    bool const is_gone = is_excused(s);  // lost before the user heard of it
    std::int64_t valid = is_gone ? 0 : 1;
    for (auto const& other : stays_) {
        if (trusts_until(other) < now)
            continue;
        if (other.of == &o && is_counted(o.what)) {
            valid += !is_excused(other);
            continue;
        }
        if (!excludes(s, other))
            continue;
        if (is_gone || is_excused(other)) {
            ++excused_;
            continue;
        }
        throw violation{
            "exclusion",
            "client " + std::to_string(s.client) + " gets " + o.name + " while client " +
                std::to_string(other.client) + " may rely on it for another " +
                seconds_of(trusts_until(other) - now),
            o.name};
    }
    if (is_counted(o.what) && valid > o.permits)
        throw violation{
            "permits", std::to_string(valid) + " permits of " + o.name + " are out", o.name};
    check_tokens(s);
    check_alone(s);
    check_reserved(s);
    return stays_.insert(stays_.end(), std::move(s));
}

std::uint64_t judge::leave(place at, std::string_view how)
{
    past_.note(
        time_.now(),
        at->client,
        how,
        at->of->name,
        static_cast<std::int64_t>(at->held->fencing_token())
    );
    log_end(*at, shown_by(*at) == time_point{} ? at->ends : trusts_until(*at), "left");
    auto const number = at->number;
    stays_.erase(at);
    return number;
}

void judge::released(std::uint64_t number, error_code ec)
{
    if (!ec)
        past_.operations().released(number, time_.now());
}

void judge::forget(int client)
{
    std::erase_if(stays_, [&](stay const& s) {
        if (s.client != client)
            return false;
        log_end(s, s.ends, "killed");
        return true;
    });
}

// ---- For the checker from outside ---------------------------------------------------------------

std::uint64_t judge::log(stay const& s) const
{
    auto& to = past_.operations();
    if (!to.is_on())
        return 0;
    auto const& o = *s.of;
    operation_log::grant made{
        .owner = s.owner == 0 ? std::string{} : std::to_string(s.owner),
        .shared = !s.writes,
        .asked = s.asked,
        .now = time_.now(),
        .permits = is_counted(o.what) ? 1 : 0};
    for (std::size_t i = 0; i != o.at.size(); ++i) {
        auto const part = std::min(i, o.parts.size() - 1);
        auto const drawn = o.at[i]->drawn_at(part_at(o, i), test::token_of(*s.held, part));
        if (drawn)
            made.admitted = std::min(*drawn, made.admitted.value_or(*drawn));
    }
    if (s.writes && !is_counted(o.what))
        for (std::size_t i = 0; i != o.parts.size(); ++i)
            made.tokens.push_back(test::token_of(*s.held, i));
    return to.acquire(o.name, made);
}

// Its hold may be no more.
void judge::log_end(stay const& s, moment ends, char const* why) const
{
    auto& to = past_.operations();
    if (!to.is_on())
        return;
    auto const now = time_.now();
    operation_log::end made{
        .now = now, .call = std::min(now, ends), .why = ends < now ? "over, or told" : why};
    if (std::ranges::all_of(s.of->at, [&](auto const* at) { return is_everywhere(s, *at); }))
        made.kept_until = s.granted_until;
    to.leave(s.number, made);
}

// ---- Tokens ------------------------------------------------------------------------------------

void judge::check_tokens(stay const& s)
{
    auto& o = *s.of;
    if (!s.writes || is_counted(o.what))
        return;
    // The counter of Redisson's fenced lock follows no clock.
    bool const may_fall = o.what == kind::fenced &&
        std::ranges::any_of(o.at, [](auto const* at) { return at->losses.any != 0; });
    for (std::size_t i = 0; i != o.parts.size(); ++i) {
        auto const token = test::token_of(*s.held, i);
        auto& last = o.last_tokens[i];
        // An owner that asks again before its release has gone out goes on with what it had.
        bool const again = token == last && s.owner != 0 && s.owner == o.last_owner;
        if (token == 0 && o.what != kind::red)
            throw violation{"tokens", o.name + " was granted without a token", o.name};
        // A grant that the server has lost since may arrive after the next one.
        if (token != 0 && token <= last && !again && !may_fall && parts_lost(s) == 0 &&
            !is_forced(s))
            throw violation{
                "tokens",
                "token " + std::to_string(token) + " of " + o.name + " comes after " +
                    std::to_string(last),
                o.name};
        last = std::max(last, token);
    }
    check_whole_token(s);
    o.last_owner = s.owner;
}

// That of a red lock rises whatever its servers lose, as long as no clock is set.
void judge::check_whole_token(stay const& s)
{
    auto& o = *s.of;
    auto const token = s.held->fencing_token();
    if (o.what != kind::red)
        return;
    bool const again = token == o.last_whole && s.owner != 0 && s.owner == o.last_owner;
    if (token == 0 || (token <= o.last_whole && !again && *s.held && !has_clock_jumped(o)))
        throw violation{
            "tokens",
            "the whole token " + std::to_string(token) + " of " + o.name + " comes after " +
                std::to_string(o.last_whole),
            o.name};
    o.last_whole = std::max(o.last_whole, token);
}

// Of all losses some are not of data, or of a failover's last writes.
bool judge::has_clock_jumped(object const& o)
{
    return std::ranges::any_of(o.at, [](auto const* at) {
        return at->losses.any != at->losses.all;
    });
}

// ---- The server's truth ------------------------------------------------------------------------

std::uint64_t judge::changes_of(object const& o)
{
    std::uint64_t all = 0;
    for (auto const* at : o.at)
        all += at->changes();
    return all;
}

/// When the server ends the key; before the world began if there is none.
moment judge::end_of(node const& at, std::string const& key)
{
    auto const* const entry = at.stored().look_up(key);
    if (!entry)
        return gone;
    return entry->expires_at ? at.after(*entry->expires_at) : never_again;
}

/// When this node ends that part of what is held: the hash of a lock, a reader's own lease, or the
/// score of a permit.
moment judge::end_at(node const& at, stay const& s, std::size_t part) const
{
    auto const& name = s.of->parts[part];
    auto const key = is_counted(s.of->what) ? decide::permit_leases(name) : name;
    auto const* const entry = at.stored().look_up(key);
    if (!entry)
        return gone;
    auto end = end_of(at, key);
    if (auto const* const ids = std::get_if<sorted_set>(&entry->content)) {
        auto const id = std::ranges::find_if(*ids, [&s](scored const& each) {
            return decide::hex_of(each.member) == s.field;
        });
        // It comes back in the millisecond that the score names.
        return id == ids->end() ? gone
                                : std::min(end, at.after(static_cast<std::int64_t>(id->score) - 1));
    }
    auto const* const fields = std::get_if<hash>(&entry->content);
    if (!fields)
        return gone;
    auto const field = std::ranges::find_if(*fields, [&](auto const& each) {
        return s.field.empty() ? each.first.starts_with(s.uuids[part]) : each.first == s.field;
    });
    if (field == fields->end())
        return gone;
    if (s.of->what != kind::read_write || s.writes)
        return end;
    // The longest of its own, if it has entered again.
    auto own = gone;
    for (int n = 1; n <= std::stoi(field->second); ++n)
        own = std::max(
            own,
            end_of(
                at,
                decide::lease_prefix(name) + ":" + s.field + ":rwlock_timeout:" + std::to_string(n)
            )
        );
    return std::min(end, own);
}

moment judge::ends_at_server(stay const& s) const
{
    std::vector<moment> ends;
    auto const parts = s.of->parts.size();
    for (std::size_t i = 0; i != parts; ++i) {
        auto end = gone;
        for (auto const* at : s.of->is_cluster ? s.of->at : std::vector{s.of->at[i]})
            end = std::max(end, end_at(*at, s, i));
        ends.push_back(end);
    }
    auto const needed = s.of->what == kind::red ? parts / 2 + 1 : parts;
    std::ranges::sort(ends, std::greater{});
    return ends[needed - 1];
}

void judge::check_end(stay& s) const
{
    auto const believed = trusts_until(s);
    s.granted_until = std::min(s.granted_until, believed);  // a shorter lease replaces it
    if (believed < time_.now() || is_excused(s) || parts_lost(s) != 0)
        return;
    auto const end = ends_at_server(s);
    if (believed < end)
        return;
    auto const now = time_.now();
    throw violation{
        "truth",
        "client " + std::to_string(s.client) + " believes that it holds " + s.of->name +
            " for another " + seconds_of(believed - now) + ", and the server " +
            (end <= now ? std::string{"has it no more"} : "ends it in " + seconds_of(end - now)),
        s.of->name};
}

// A hold is lost before its end by a quarter of its lease at most; see `decide::loss_margin`.
void judge::check_loss(stay const& s) const
{
    constexpr auto answer_takes = std::chrono::milliseconds{5};
    auto const left = s.by->when(s.shown) - time_.now();
    if (is_calm_ && left > s.shown_for / 4 + answer_takes)
        throw violation{
            "losses",
            "client " + std::to_string(s.client) + " loses " + s.of->name +
                ", which was valid for " + seconds_of(left) + " more, with nothing wrong",
            s.of->name};
}

std::uint64_t judge::forces_of(stay const& s)
{
    std::uint64_t all = 0;
    for (auto const* at : s.of->at)
        all += at->mishaps_of(s.of->parts.front()).forced;
    return all;
}

// As a script tells it: only clients of this version have one.
bool judge::has_mailbox(stay const& s)
{
    auto const& client = s.uuids.front();
    auto const slot = decide::slot_of(s.of->name);
    auto const channel =
        decide::mailbox_prefix(s.of->is_cluster ? std::optional{slot} : std::nullopt) + client;
    return client[14] == '9' &&
        std::ranges::any_of(s.of->at, [&](auto const* at) { return at->is_heard(channel); });
}

// One message, and one script after those that are under way.
void judge::check_forced(stay& s) const
{
    constexpr auto to_be_told = std::chrono::milliseconds{200};
    auto const now = time_.now();
    if (s.told_by == never_again && forces_of(s) != s.forces)
        s.told_by = has_mailbox(s) ? now + to_be_told : never_again - moment{1};
    if (s.told_by < now && trusts_until(s) > now)
        throw violation{
            "forced",
            "client " + std::to_string(s.client) + " was not told that " + s.of->name +
                " was forced, and believes in it for another " + seconds_of(trusts_until(s) - now),
            s.of->name};
}

// By the client's clock, which may be fast, and the server's, which shows milliseconds.
void judge::reserve(stay const& by, moment asked, milliseconds at_least)
{
    if (at_least == milliseconds{0})
        return;
    auto granted = asked;
    for (std::size_t i = 0; i != by.of->at.size(); ++i)
        granted = std::max(granted, by.of->at[i]->set_at(part_at(*by.of, i)));
    auto& made = reserved_.emplace_back(
        by, granted + at_least - moment{at_least} / 100 - std::chrono::milliseconds{2}
    );
    made.by.changes = 0;
}

void judge::check_reserved()
{
    auto const now = time_.now();
    std::erase_if(reserved_, [&](auto const& each) { return each.until <= now; });
    for (auto& each : reserved_) {
        auto const& of = *each.by.of;
        if (auto const changes = changes_of(of); changes != each.by.changes) {
            each.by.changes = changes;
            each.end = mishaps_of(of) == each.by.before ? ends_at_server(each.by) : never_again;
        }
        if (each.end <= now)
            throw violation{
                "at_least",
                "client " + std::to_string(each.by.client) + " was to keep " + of.name +
                    " taken for another " + seconds_of(each.until - now) +
                    ", and the server has it no more",
                of.name};
    }
}

void judge::check_reserved(stay const& newcomer) const
{
    for (auto const& each : reserved_)
        if (each.by.of == newcomer.of && !is_same_owner(each.by, newcomer) &&
            time_.now() < each.until && mishaps_of(*each.by.of) == each.by.before)
            throw violation{
                "at_least",
                "client " + std::to_string(newcomer.client) + " gets " + newcomer.of->name +
                    ", which client " + std::to_string(each.by.client) +
                    " was to keep taken for another " + seconds_of(each.until - time_.now()),
                newcomer.of->name};
}

void judge::look()
{
    check_reserved();
    for (auto& s : stays_) {
        auto const shown = shown_by(s);
        auto const changes = changes_of(*s.of);
        if (only_forced_)
            check_forced(s);
        if (shown == s.shown && changes == s.changes)
            continue;
        if (shown == time_point{} && s.shown != time_point{})
            check_loss(s);
        if (shown != s.shown) {
            s.ends = shown == time_point{} ? std::min(s.ends, time_.now()) : trusts_until(s);
            auto const left = trusts_until(s) - time_.now();
            s.shown_for = shown < s.shown ? left : std::max(s.shown_for, left);
        }
        s.shown = shown;
        s.changes = changes;
        check_end(s);
    }
}

// An exclusive lock is a hash with one owner.
void judge::check_alone(stay const& s)
{
    auto const what = s.of->what;
    if (what == kind::read_write || is_counted(what))
        return;
    for (std::size_t i = 0; i != s.of->parts.size(); ++i)
        for (auto* const at : s.of->is_cluster ? s.of->at : std::vector{s.of->at[i]}) {
            auto const fields = at->ask({"HLEN", s.of->parts[i]});
            if (fields.number > 1)
                throw violation{
                    "exclusion", s.of->name + " has two owners at the server", s.of->name};
        }
}

// ---- Semaphores --------------------------------------------------------------------------------

std::uint64_t judge::take_permits(object& o, int client, std::int64_t n, moment asked)
{
    auto const number =
        past_.operations().acquire(o.name, {.asked = asked, .now = time_.now(), .permits = n});
    o.out += n;
    ++grants_;
    past_.note(time_.now(), client, "takes", o.name, n);
    if (o.out > o.permits && !o.is_doubtful)
        throw violation{
            "permits", std::to_string(o.out) + " permits of " + o.name + " are out", o.name};
    return number;
}

void judge::give_permits(object& o, int client, std::int64_t n, std::uint64_t number)
{
    past_.operations().leave(number, {.now = time_.now(), .call = time_.now()});
    o.out -= n;
    past_.note(time_.now(), client, "gives", o.name, n);
}

}  // namespace colock::simulation
