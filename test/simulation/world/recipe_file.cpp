// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "simulation/world/recipe_file.hpp"

#include <istream>
#include <iterator>
#include <map>
#include <optional>
#include <ostream>
#include <sstream>
#include <stdexcept>
#include <type_traits>

namespace colock::simulation {

namespace {

/// Calls visit(name, member) for all that makes a world.
template <class Visit>
void for_each_field(kept_recipe& of, Visit const& visit)
{
    // A new member does not compile before it is named here, and in a line below.
    auto& [name, machines, tasks, servers, shards, objects, settings, length, shortest_stay, longest_stay, shortest_pause, longest_pause, writes, own_leases, renewed_leases, re_entries, own_terms, outer_first, extensions, at_least, cancellations, tries, timed_tries, drops, gifts, coroutines, long_stays, permits, most_re_entries, most_extensions, hold_limits, loss_margins, older_ids, faults, between_faults, has_drift, may_kill, held_up, longest_wait, broken] =
        of.plan;
    visit("name", name);
    visit("machines", machines);
    visit("tasks", tasks);
    visit("servers", servers);
    visit("shards", shards);
    visit("object", objects);
    visit("lease", settings.lease);
    visit("timeout", settings.timeout);
    visit("poll_cap", settings.poll_cap);
    visit("sync_timeout", settings.sync_timeout);
    visit("vote_after", settings.vote_after);
    visit("durability", settings.durability);
    visit("replicas", settings.replicas);
    visit("topology", settings.topology);
    visit("publish", settings.publish);
    visit("length", length);
    visit("shortest_stay", shortest_stay);
    visit("longest_stay", longest_stay);
    visit("shortest_pause", shortest_pause);
    visit("longest_pause", longest_pause);
    visit("writes", writes);
    visit("own_leases", own_leases);
    visit("renewed_leases", renewed_leases);
    visit("re_entries", re_entries);
    visit("own_terms", own_terms);
    visit("outer_first", outer_first);
    visit("extensions", extensions);
    visit("at_least", at_least);
    visit("cancellations", cancellations);
    visit("tries", tries);
    visit("timed_tries", timed_tries);
    visit("drops", drops);
    visit("gifts", gifts);
    visit("coroutines", coroutines);
    visit("long_stays", long_stays);
    visit("permits", permits);
    visit("most_re_entries", most_re_entries);
    visit("most_extensions", most_extensions);
    visit("hold_limits", hold_limits);
    visit("loss_margins", loss_margins);
    visit("older_ids", older_ids);
    visit("fault", faults);
    visit("between_faults", between_faults);
    visit("has_drift", has_drift);
    visit("may_kill", may_kill);
    visit("held_up", held_up);
    visit("longest_wait", longest_wait);
    visit("broken", broken);

    auto& [seed, luck, without_machines, without_tasks, without_faults, sections, shorter] = of.how;
    visit("seed", seed);
    visit("luck", luck);
    visit("without_machine", without_machines);
    visit("without_task", without_tasks);
    visit("without_fault", without_faults);
    visit("sections", sections);
    visit("shorter", shorter);
}

// ---- A value is the rest of a line; a list has a line for each of its values --------------------

std::string text_of(std::string const& field) { return field; }

template <class Number>
    requires std::is_arithmetic_v<Number>
std::string text_of(Number field)
{
    return std::to_string(field);
}

template <class Rep, class Period>
std::string text_of(std::chrono::duration<Rep, Period> field)
{
    return std::to_string(field.count());
}

template <class Named>
    requires requires(Named field) { name_of(field); }
std::string text_of(Named field)
{
    return std::string{name_of(field)};
}

std::string text_of(topology field) { return std::to_string(static_cast<int>(field)); }
std::string text_of(publishing field) { return std::to_string(static_cast<int>(field)); }
std::string text_of(durability field) { return std::to_string(static_cast<int>(field)); }

template <class Named, class Count>
std::string text_of(std::pair<Named, Count> const& field)
{
    return text_of(field.second) + " " + text_of(field.first);
}

template <class Value>
std::string text_of(std::optional<Value> const& field)
{
    return field ? text_of(*field) : "none";
}

void read(std::string const& text, std::string& field) { field = text; }

template <class Number>
    requires std::is_arithmetic_v<Number>
void read(std::string const& text, Number& field)
{
    std::istringstream from{text};
    if (!(from >> field) || !(from >> std::ws).eof())
        throw std::runtime_error{"a recipe has no number: " + text};
}

template <class Rep, class Period>
void read(std::string const& text, std::chrono::duration<Rep, Period>& field)
{
    Rep count{};
    read(text, count);
    field = std::chrono::duration<Rep, Period>{count};
}

template <class Value>
void read(std::string const& text, std::optional<Value>& field)
{
    field.reset();
    if (text != "none")
        read(text, field.emplace());
}

void read(std::string const& text, kind& field) { field = kind_named(text); }
void read(std::string const& text, fault_kind& field) { field = fault_named(text); }
void read(std::string const& text, mutant& field) { field = mutant_named(text); }

template <class Numbered>
    requires std::is_enum_v<Numbered>
void read(std::string const& text, Numbered& field)
{
    int number = 0;
    read(text, number);
    field = static_cast<Numbered>(number);
}

template <class Named, class Count>
void read(std::string const& text, std::pair<Named, Count>& field)
{
    auto const space = text.find(' ');
    if (space == text.npos)
        throw std::runtime_error{"a recipe has no name behind its number: " + text};
    read(text.substr(0, space), field.second);
    read(text.substr(space + 1), field.first);
}

template <class Values>
concept list_of_values =
    requires(Values v) { v.insert(v.end(), *v.begin()); } && !std::is_same_v<Values, std::string>;

}  // namespace

void write(std::ostream& to, kept_recipe const& what)
{
    auto copy = what;
    to << "recipe\n";
    for_each_field(copy, [&to](std::string const& name, auto const& field) {
        auto const line = [&](auto const& each) {
            to << "    " << name << " " << text_of(each) << "\n";
        };
        if constexpr (list_of_values<std::remove_cvref_t<decltype(field)>>)
            for (auto const& each : field)
                line(each);
        else
            line(field);
    });
}

kept_recipe read_recipe(std::istream& from)
{
    std::string line;
    while (std::getline(from, line) && line != "recipe")
        ;
    std::multimap<std::string, std::string> lines;
    while (std::getline(from, line) && line.starts_with("    ")) {
        auto const end = line.find(' ', 4);
        lines.emplace(line.substr(4, end - 4), end == line.npos ? "" : line.substr(end + 1));
    }
    kept_recipe found;
    for_each_field(found, [&lines](std::string const& name, auto& field) {
        auto const [first, last] = lines.equal_range(name);
        if constexpr (list_of_values<std::remove_cvref_t<decltype(field)>>) {
            field.clear();
            for (auto at = first; at != last; ++at) {
                typename std::remove_cvref_t<decltype(field)>::value_type each{};
                read(at->second, each);
                field.insert(field.end(), each);
            }
        } else if (std::distance(first, last) != 1) {
            throw std::runtime_error{"a recipe has not one line of " + name};
        } else {
            read(first->second, field);
        }
        lines.erase(first, last);
    });
    if (!lines.empty())
        throw std::runtime_error{"a recipe has what no world has: " + lines.begin()->first};
    return found;
}

}  // namespace colock::simulation
