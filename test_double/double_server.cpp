#include "decide/names.hpp"
#include "double_server.hpp"
#include "redis/any_command.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace colock::testing {

namespace {

/// What the first key of a script holds, if it is there: otherwise the script fails, or, if it sets
/// `only_new` keys, answers 0.
enum class content : char { anything, hash, number, only_new };

/// How a script is carried out, and how much of a call for many is one lock's.
struct script_entry {
    reply (*run)(held_locks&, fair_lines&, counters&, script_call const&);
    std::size_t keys = 0, arguments = 0;  ///< 0: there are no calls for many
    bool sums_up = false;                 ///< answers 1 if that is the answer for each of many
    content expects = content::anything;
};

template <auto Member>
reply on_locks(held_locks& l, fair_lines&, counters&, script_call const& c)
{
    return (l.*Member)(c);
}

template <auto Member>
reply on_lines(held_locks&, fair_lines& l, counters&, script_call const& c)
{
    return (l.*Member)(c);
}

template <auto Member>
reply on_counters(held_locks&, fair_lines&, counters& n, script_call const& c)
{
    return (n.*Member)(c);
}

// A counter of tokens is one of the locks'.
reply count(held_locks& l, fair_lines&, counters& n, script_call const& c)
{
    auto const token = l.last_token(c.key());
    return token != 0 ? reply::of(token) : n.count(c);
}

using script_table = std::unordered_map<std::string_view, script_entry>;

// By name, because the scripts may be in another library than this.
script_table const& table()
{
    using locks = held_locks;
    using lines = fair_lines;
    static script_table const all{
        {"acquire", {.run = &on_locks<&locks::acquire>, .expects = content::hash}},
        {"extend", {&on_locks<&locks::extend>}},
        {"renew", {&on_locks<&locks::renew>, 1, 2, true}},
        {"release", {&on_locks<&locks::release>}},
        {"leave", {&on_locks<&locks::leave>}},
        {"force", {&on_locks<&locks::force>}},
        {"adopt", {&on_locks<&locks::adopt>}},
        {"request", {&on_locks<&locks::request>}},
        {"inspect", {.run = &on_locks<&locks::inspect>, .expects = content::hash}},
        {"read_acquire", {.run = &on_locks<&locks::read_acquire>, .expects = content::hash}},
        {"read_extend", {&on_locks<&locks::read_extend>}},
        {"read_renew", {&on_locks<&locks::renew>, 1, 3, true}},
        {"read_release", {&on_locks<&locks::read_release>}},
        {"write_acquire", {.run = &on_locks<&locks::write_acquire>, .expects = content::hash}},
        {"write_release", {&on_locks<&locks::write_release>}},
        {"read_write_force", {&on_locks<&locks::read_write_force>}},
        {"leader_publish", {&on_locks<&locks::leader_publish>}},
        {"leader_read", {&on_locks<&locks::leader_read>}},
        {"fair_acquire", {.run = &on_lines<&lines::acquire>, .expects = content::hash}},
        {"fair_keep", {&on_lines<&lines::keep>, 4, 3}},
        {"fair_release", {&on_lines<&lines::release>}},
        {"fair_force", {&on_lines<&lines::force>}},
        {"semaphore_acquire",
         {.run = &on_counters<&counters::semaphore_acquire>, .expects = content::number}},
        {"semaphore_undo", {&on_counters<&counters::semaphore_undo>}},
        {"semaphore_release",
         {.run = &on_counters<&counters::semaphore_release>, .expects = content::number}},
        {"semaphore_release_existing",
         {.run = &on_counters<&counters::semaphore_release_existing>, .expects = content::number}},
        {"semaphore_set",
         {.run = &on_counters<&counters::semaphore_set>, .expects = content::only_new}},
        {"semaphore_drain",
         {.run = &on_counters<&counters::semaphore_drain>, .expects = content::number}},
        {"latch_set", {.run = &on_counters<&counters::latch_set>, .expects = content::only_new}},
        {"latch_count_down",
         {.run = &on_counters<&counters::latch_count_down>, .expects = content::number}},
        {"latch_remove", {&on_counters<&counters::latch_remove>}},
        {"count", {.run = &count, .expects = content::number}},
        {"permit_acquire",
         {.run = &on_counters<&counters::permit_acquire>, .expects = content::number}},
        {"permit_extend", {&on_counters<&counters::permit_extend>, 1, 2}},
        {"permit_release", {&on_counters<&counters::permit_release>}},
        {"permit_return", {&on_counters<&counters::permit_return>}},
        {"permit_set", {.run = &on_counters<&counters::permit_set>, .expects = content::number}},
        {"permit_count",
         {.run = &on_counters<&counters::permit_count>, .expects = content::number}},
    };
    return all;
}

answer replied(reply value) { return {answer::kind::replied, std::move(value), {}, {}}; }

}  // namespace

// ---- Steps -------------------------------------------------------------------------------------

answer double_server::run(step const& s)
{
    auto const is_refused = [this](std::string_view key) {
        return refusing.contains(std::string{key});
    };
    if (std::ranges::any_of(s.keys, is_refused))
        return {answer::kind::failed, {}, error::server_refused, {}};
    script_call const call{s.keys, s.arguments};
    if (!s.whole && is_of_another_type(s, call))
        return {answer::kind::failed, {}, error::wrong_type, {}};
    return replied(s.whole ? run_many(s) : run_one(s, call));
}

bool double_server::is_of_another_type(step const& s, script_call const& c)
{
    auto const known = table().find(s.what.name);
    if (known == table().end())
        return false;
    auto const expected = known->second.expects;
    return (expected == content::hash && counters_.has(c.key())) ||
        (expected == content::number && locks_.is_held(c.key()));
}

reply double_server::run_one(step const& s, script_call const& c)
{
    if (s.what.name == ping_command.name)
        return reply::of("PONG");
    if (s.what.name == any_command.name && s.arguments.front() == "SET")  // the client's report
        return reply::of("OK");
    auto const known = table().find(s.what.name);
    if (known == table().end())
        return reply::error("ERR the double does not know the script " + std::string{s.what.name});
    if (known->second.expects == content::only_new && locks_.is_held(c.key()))
        return reply::of(std::int64_t{0});
    return known->second.run(locks_, lines_, counters_, c);
}

reply double_server::run_many(step const& s)
{
    script_call const all{s.keys, s.arguments};
    if (s.what.name == "expiring")
        return expiring(all);
    auto const known = table().find(s.what.name);
    if (known == table().end() || known->second.keys == 0)
        return run_one(s, all);
    auto const& one = known->second;
    std::vector<reply> each;
    for (std::size_t i = 0; (i + 1) * one.keys <= all.keys.size(); ++i)
        each.push_back(run_one(
            s,
            {all.keys.subspan(i * one.keys, one.keys),
             all.arguments.subspan(i * one.arguments, one.arguments)}
        ));
    auto const is_one = [](reply const& r) {
        return r.what == reply::kind::integer && r.number == 1;
    };
    return one.sums_up && std::ranges::all_of(each, is_one) ? reply::of(1)
                                                            : reply::of(std::move(each));
}

reply double_server::expiring(script_call const& c)
{
    std::vector<reply> places;
    for (std::size_t i = 0; i != c.keys.size(); ++i) {
        auto const list = c.argument(i + 1);
        bool const is_gone = !list.empty() && !locks_.keep_list(list);
        auto const pttl = is_gone ? -3 : locks_.pttl(c.key(i));
        if (pttl >= c.number(0))
            continue;
        places.push_back(reply::of(static_cast<std::int64_t>(i + 1)));
        places.push_back(reply::of(pttl));
    }
    return reply::of(std::move(places));
}

// ---- What the test says ------------------------------------------------------------------------

void double_server::occupy(std::string const& key) { others.occupied.insert(key); }

bool double_server::vacate(std::string const& key)
{
    others.refused.erase(key);
    if (others.occupied.erase(key) == 0)
        return false;
    tell_all(key);
    return true;
}

bool double_server::remove(std::string const& key)
{
    bool const was_held = locks_.remove(key);
    bool const were_out = counters_.lose(key);
    if (!was_held && !were_out)
        return false;
    tell_all(key);
    return true;
}

void double_server::remove_all()
{
    locks_.forget();
    lines_.forget();
    counters_.lose_all();
}

// The kind of object is unknown, so this tells the waiters for any object of this name.
void double_server::tell_all(std::string const& key)
{
    auto const channel = decide::lock_channel(key, prefix_);
    auto const permits = std::to_string(counters_.value(key));
    others.publish(channel, "0");
    lines_.tell_first(key, channel);
    others.publish(decide::read_write_channel(key, prefix_), "1");
    others.publish(decide::semaphore_channel(key, prefix_), permits);
    others.publish(decide::latch_channel(key, prefix_), "0");
}

bool double_server::is_held(std::string const& key) { return std::ranges::count(held(), key) != 0; }

std::vector<std::string> double_server::held()
{
    auto all = locks_.held();
    for (auto& key : counters_.held())
        all.push_back(std::move(key));
    return all;
}

}  // namespace colock::testing
