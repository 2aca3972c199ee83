// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "decide/names.hpp"
#include "simulation/world/dice.hpp"
#include "simulation/world/node.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <unordered_map>

namespace colock::simulation {

using decide::reply;
using namespace std::chrono_literals;

namespace {

/// 2023-11-14, in microseconds.
constexpr std::int64_t epoch = 1'700'000'000'000'000;

std::int64_t number_in(std::string_view text)
{
    std::int64_t n = 0;
    std::from_chars(text.data(), text.data() + text.size(), n);
    return n;
}

auto const& scripts_by_sum()
{
    static auto const known = [] {
        std::unordered_map<std::string_view, scripts::script const*> by_sum;
        for (auto const* each : scripts::all)
            for (auto const* form : {each, each->sharded, each->both})
                if (form)
                    by_sum.emplace(form->sha1, form);
        return by_sum;
    }();
    return known;
}

/// The lease that a script sets for the n-th of its locks, for the history; empty for the others.
std::string_view lease_in(
    std::string_view script, std::span<std::string_view const> arguments, std::size_t n
)
{
    struct place {
        std::string_view script;
        std::size_t width, at;
    };
    constexpr std::array<place, 4> places{
        {{"extend", 3, 2}, {"renew", 2, 1}, {"read_extend", 4, 2}, {"read_renew", 3, 1}}};
    for (auto const& each : places)
        if (auto const at = each.width * n + each.at;
            each.script == script && at < arguments.size())
            return arguments[at];
    return {};
}

scripts::script const* script_with(std::string_view text)
{
    for (auto const& [sum, script] : scripts_by_sum())
        if (script->text == text)
            return script;
    return nullptr;
}

}  // namespace

node::node(int number, timeline& time, history& past)
    : number_{number}
    , time_{time}
    , past_{past}
    , redis_{[this] { return wall_clock(); }}
{
    redis_.publish = [this](audience, std::string_view channel, std::string_view payload) {
        auto const at = heard_.find(channel);
        if (at == heard_.end())
            return std::int64_t{0};
        for (auto* const each : at->second)
            each->send(channel, payload);
        messages_ += at->second.size();
        return static_cast<std::int64_t>(at->second.size());
    };
    redis_.subscribers = [this](audience, std::string_view channel) {
        auto const at = heard_.find(channel);
        return at == heard_.end() ? 0 : static_cast<std::int64_t>(at->second.size());
    };
}

std::int64_t node::wall_clock() const noexcept
{
    return epoch + (time_.now() + clock_offset) / 1us;
}

moment node::after(std::int64_t shown) const noexcept
{
    constexpr auto begun = epoch / 1'000;
    constexpr auto latest = never_again / 4 / 1ms;
    return std::min<std::int64_t>(shown + 1 - begun, latest) * 1ms - clock_offset;
}

// ---- Commands ----------------------------------------------------------------------------------

node::outcome node::run(std::string_view bytes)
{
    outcome all;
    for_each_command(bytes, [&](std::span<std::string_view const> words) {
        all.replies.push_back(run_one(words, all.held_back));
    });
    return all;
}

reply node::ask(std::initializer_list<std::string_view> words)
{
    ++changes_;
    return redis_.command(std::span{words.begin(), words.size()});
}

reply node::run_one(std::span<std::string_view const> words, moment& held_back)
{
    auto const verb = words.front();
    if (verb == "WAIT")
        return wait(number_in(words[1]), number_in(words[2]), held_back);
    if (verb == "PING" || verb == "ASKING")
        return reply::of(verb == "PING" ? std::string_view{"PONG"} : std::string_view{"OK"});
    if (!refusal.empty())
        return reply::error(refusal);
    ++changes_;
    if (verb != "EVALSHA" && verb != "EVAL")
        return redis_.command(words);
    auto const& by_sum = scripts_by_sum();
    scripts::script const* script = nullptr;
    if (verb == "EVAL")
        script = script_with(words[1]);
    else if (auto const at = by_sum.find(words[1]); at != by_sum.end())
        script = at->second;
    if (!script)
        return reply::error("ERR a script that nobody has written");
    ++scripts_;
    if (verb == "EVAL")
        known_.insert(script->sha1);
    else if (!known_.contains(script->sha1))
        return reply::error("NOSCRIPT No matching script. Please use EVAL.");
    return run_script(*script, words.subspan(3), static_cast<unsigned>(number_in(words[2])));
}

reply node::run_script(
    scripts::script const& what, std::span<std::string_view const> words, unsigned keys
)
{
    if (redirect)
        for (auto const key : words.first(keys))
            if (auto where = redirect(decide::slot_of(key)); !where.empty())
                return reply::error(where);
    auto text = instead ? instead(what) : std::string_view{};
    if (text.empty())
        text = what.text;
    auto got = redis_.call(text, words.first(keys), words.subspan(keys));
    note(what, words, keys, got);
    return got;
}

void node::note(
    scripts::script const& what,
    std::span<std::string_view const> words,
    unsigned keys,
    reply const& got
)
{
    // It answers for each of its locks, which have as many keys each.
    auto const is_list = got.what == reply::kind::list && !got.items.empty();
    auto const answers = is_list ? got.items.size() : 1;
    auto const width = keys / answers;
    for (std::size_t i = 0; i != answers && i * width < words.size(); ++i) {
        auto const& one = is_list ? got.items[i] : got;
        bool const is_number = one.what == reply::kind::integer;
        bool const grants = what.name.find("acquire") != what.name.npos || what.name == "adopt";
        if (is_number && grants && one.number != 0)
            remember_grant(words[i * width], decide::read_acquire(one, true).last_token);
        // From then on the part counts with this token, in place of the one that it has drawn.
        if (what.name == "raise" && one.what == reply::kind::list && one.items.front().number > 0)
            if (auto const token = number_in(words[keys + i * width + 1]); token > 0)
                remember_grant(words[i * width], static_cast<std::uint64_t>(token));
        if (is_number && one.number != 0 && (grants || what.name == "extend"))
            set_at_[std::string{words[i * width]}] = time_.now();
        if (is_number && one.number != 0 && what.name.find("force") != what.name.npos)
            ++forced_[std::string{words[i * width]}];
        past_.note(
            time_.now(),
            -1 - number_,
            what.name,
            words[i * width],
            is_number ? one.number : -1,
            one.what == reply::kind::error ? std::string_view{one.text}
                                           : lease_in(what.name, words.subspan(keys), i)
        );
    }
}

reply node::wait(std::int64_t wanted, std::int64_t patience, moment& held_back) const
{
    auto const limit = moment{std::chrono::milliseconds{patience}};
    if (wait_lies)
        return reply::of(static_cast<std::int64_t>(replicas));
    auto const there = static_cast<std::int64_t>(replicas - std::min(lagging, replicas));
    bool const in_time = replication <= limit;
    held_back = in_time && there >= wanted ? replication : limit;
    return reply::of(in_time ? there : 0);
}

// ---- Subscriptions -----------------------------------------------------------------------------

void node::subscribe(subscriber& who, std::string const& channel)
{
    auto& there = heard_[channel];
    if (std::ranges::find(there, &who) == there.end())
        there.push_back(&who);
}

void node::unsubscribe(subscriber& who, std::string const& channel)
{
    auto const at = heard_.find(channel);
    if (at == heard_.end())
        return;
    std::erase(at->second, &who);
    if (at->second.empty())
        heard_.erase(at);
}

void node::forget(subscriber& who)
{
    for (auto at = heard_.begin(); at != heard_.end();) {
        std::erase(at->second, &who);
        at = at->second.empty() ? heard_.erase(at) : std::next(at);
    }
}

void node::end_subscriptions(unsigned slot)
{
    std::vector<std::pair<std::string, subscriber*>> ended;
    for (auto const& [channel, all] : heard_)
        if (decide::slot_of(channel) == slot)
            for (auto* const each : all)
                ended.emplace_back(channel, each);
    for (auto const& [channel, each] : ended)
        each->end(channel);
}

// ---- What goes wrong ---------------------------------------------------------------------------

node::mishaps node::mishaps_of(std::string_view lock) const
{
    auto const at = forced_.find(lock);
    return {losses, at == forced_.end() ? 0 : at->second};
}

node::mishaps node::mishaps_before(std::string_view lock, std::uint64_t token) const
{
    auto const* const drawn = draw_of(lock, token);
    return drawn ? drawn->before : mishaps_of(lock);
}

std::optional<moment> node::drawn_at(std::string_view lock, std::uint64_t token) const
{
    auto const* const drawn = draw_of(lock, token);
    return drawn ? std::optional{drawn->at} : std::nullopt;
}

node::draw const* node::draw_of(std::string_view lock, std::uint64_t token) const
{
    auto const of = grants_.find(lock);
    if (of == grants_.end() || token == 0)
        return nullptr;
    auto const at = of->second.lower_bound(token);  // the last one of its draw
    return at != of->second.end() ? &at->second : nullptr;
}

void node::remember_grant(std::string_view name, std::uint64_t token)
{
    constexpr std::size_t most = 1'000;  // more than clients can have under way
    auto& of = grants_[std::string{name}];
    of.insert_or_assign(token, draw{time_.now(), mishaps_of(name)});
    if (of.size() > most)
        of.erase(of.begin());
}

void node::fall_behind()
{
    behind_ = redis_.data();
    lagging = 1;
}

void node::fail_over()
{
    if (behind_)
        restore(std::move(*behind_));
    behind_.reset();
    lagging = 0;
    ++losses.any;
    forget_scripts();
}

void node::empty()
{
    restore({});
    redis_.started = wall_clock();
    behind_.reset();
    lagging = 0;
    ++losses.any;
    ++losses.all;
    forget_scripts();
}

}  // namespace colock::simulation
