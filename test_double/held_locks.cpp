#include "held_locks.hpp"

#include <algorithm>

namespace colock::testing {

namespace {

constexpr std::string_view write_end = ":write";

time_point after(std::int64_t lease) { return clock::now() + milliseconds{lease}; }

/// In the id of a client, which stands for whether its releases tell the list.
constexpr std::size_t version_place = 14;

bool tells_first(std::string const& field)
{
    return field.size() > version_place && field[version_place] == '8';
}

/// The same for whether it may keep a lock after its release.
constexpr std::size_t variant_place = 19;

constexpr std::chrono::seconds list_life{120}, least_list_life{100};

std::string client_of(std::string const& field) { return field.substr(0, field.find(':')); }

struct listed {
    std::string place, channel, entry;
};

// 'place:channel' or 'place|n:entry and channel'.
listed place_and_channel(std::string const& text)
{
    auto const colon = text.find(':');
    if (colon == std::string::npos)
        return {};
    auto const bar = text.find('|');
    if (bar >= colon)
        return {text.substr(0, colon), text.substr(colon + 1), {}};
    auto const size = std::stoul(text.substr(bar + 1));
    return {text.substr(0, bar), text.substr(colon + 1 + size), text.substr(colon + 1, size)};
}

// Of this channel's lock; a name of a list is itself.
std::string list_name(std::string const& text)
{
    for (std::string_view const kind : {"redisson_lock__channel:", "redisson_rwlock:"})
        if (auto const at = text.find(kind); at != std::string::npos)
            return text.substr(0, at) + "colock_wait:" + text.substr(at + kind.size());
    return text;
}

reply of_bool(bool is) { return reply::of(std::int64_t{is}); }

}  // namespace

/// The words of an entry that a release passes this lock on to; no field in another one.
struct held_locks::passing_words {
    passing_words(std::string const& entry, std::string const& lock)
    {
        auto const first = entry.find('|');
        if (first == std::string::npos)
            return;
        auto const second = entry.find('|', first + 1), third = entry.find('|', second + 1);
        auto const rest = entry.substr(third + 1);
        if (!rest.starts_with(lock + "|"))
            return;
        field = entry.substr(0, first);
        lease = std::stoll(entry.substr(first + 1));
        secret = entry.substr(second + 1, third - second - 1);
        if (rest.size() > lock.size() + 1)
            counter = rest.substr(lock.size() + 2);
    }

    std::string field, secret, counter;
    std::int64_t lease = 0;
};

held_locks::fields* held_locks::find(std::string const& key)
{
    auto const at = locks_.find(key);
    if (at == locks_.end())
        return nullptr;
    std::erase_if(at->second, [](auto const& f) { return f.second.until <= clock::now(); });
    if (!at->second.empty())
        return &at->second;
    locks_.erase(at);
    return nullptr;
}

bool held_locks::has(std::string const& key, std::string const& field)
{
    auto const* const lock = find(key);
    return lock && lock->contains(field);
}

std::vector<std::string> held_locks::held()
{
    std::vector<std::string> names;
    for (auto const& [key, lock] : locks_)
        if (std::ranges::any_of(lock, [](auto const& f) { return f.second.until > clock::now(); }))
            names.push_back(key);
    return names;
}

bool held_locks::remove(std::string const& key, std::string const& field)
{
    auto* const lock = find(key);
    if (!lock || lock->erase(field) == 0)
        return false;
    if (lock->empty())
        locks_.erase(key);
    return true;
}

std::int64_t held_locks::pttl(std::string const& key)
{
    if (outside_.blocks(key))
        return outside::lease;
    auto const* const lock = find(key);
    if (!lock)
        return -2;
    auto const longest =
        std::ranges::max_element(*lock, {}, [](auto const& f) { return f.second.until; });
    return until(longest->second.until).count();
}

reply held_locks::refusal(std::string const& key, std::string const& channel)
{
    return outside_.refuse(pttl(key), channel);
}

bool held_locks::is_written(std::string const& key)
{
    auto const* const lock = find(key);
    return lock &&
        std::ranges::any_of(*lock, [](auto const& f) { return f.first.ends_with(write_end); });
}

// By readers alone.
bool held_locks::is_read(std::string const& key)
{
    auto const* const lock = find(key);
    return lock && std::ranges::all_of(*lock, [](auto const& f) { return f.second.reads; });
}

// ---- Plain, spin and fenced --------------------------------------------------------------------

std::int64_t held_locks::last_token(std::string const& counter) const
{
    auto const at = tokens_.find(counter);
    return at == tokens_.end() ? 0 : at->second;
}

// The last of some new tokens; 0 without fencing.
reply held_locks::grant(script_call const& c, bool draws)
{
    locks_[c.key()][c.argument(0)] = {1, after(c.number(1))};
    return reply::of(draws ? tokens_[c.key(c.keys.size() - 1)] += c.number(2) : 0);
}

reply held_locks::acquire(script_call const& c)
{
    bool const is_free = !find(c.key()) && !outside_.blocks(c.key());
    auto const [place, channel, entry] = place_and_channel(c.argument(3));
    auto const mine = entry.empty() ? client_of(c.argument(0)) : entry;
    if (is_free && place == "behind") {
        auto const length = join(channel, mine, false);
        return reply::of(std::vector{reply::of(-1), reply::of(length), reply::of(3)});
    }
    if (!is_free && !has(c.key(), c.argument(0)))
        return listed_refusal(c);
    if (place == "check" || !entry.empty())
        drop(channel, mine);
    if (list_of(channel))
        tell_holder(c.argument(0), channel);
    return grant(c, c.keys.size() == 2);
}

reply held_locks::listed_refusal(script_call const& c)
{
    auto const [place, channel, entry] = place_and_channel(c.argument(3));
    auto const mine = entry.empty() ? client_of(c.argument(0)) : entry;
    auto const* const lock = find(c.key());
    bool const is_read = c.argument(0).ends_with(write_end) && !is_written(c.key());
    bool const wakes = lock && !is_read && tells_first(lock->begin()->first);
    std::int64_t count = 0;
    auto* const list = list_of(channel);
    bool stands = place == "check" && list && std::ranges::count(list->clients, mine) != 0;
    bool is_first = stands && list->clients.front() == mine;
    if (stands)
        list->keep();
    if (place.empty()) {
        count = channel.empty() ? 0 : outside_.count(channel);
    } else if (!stands && (place != "check" || entry.empty())) {
        if (place == "first")
            drop(channel, mine);
        count = join(channel, mine, place == "first");
        stands = true;
        is_first = count == 1 || place == "first";
        if (count == 1 && wakes)
            tell_holder(lock->begin()->first, channel);
    }
    auto const sum = std::int64_t{stands} + (wakes ? 2 : 0) + (is_first ? 4 : 0);
    return reply::of(std::vector{reply::of(pttl(c.key())), reply::of(count), reply::of(sum)});
}

// ---- The wait list -----------------------------------------------------------------------------

held_locks::wait_list* held_locks::list_of(std::string const& channel)
{
    auto const at = lists_.find(list_name(channel));
    if (at == lists_.end())
        return nullptr;
    if (at->second.until > clock::now() && !at->second.clients.empty())
        return &at->second;
    lists_.erase(at);
    return nullptr;
}

bool held_locks::keep_list(std::string const& text)
{
    auto const named = text.starts_with('|') ? place_and_channel(text) : listed{{}, text, {}};
    auto* const list = list_of(named.channel);
    if (list && !named.entry.empty() && std::ranges::count(list->clients, named.entry) == 0)
        return false;
    if (list)
        list->keep();
    return list != nullptr;
}

void held_locks::wait_list::keep()
{
    if (until < clock::now() + least_list_life)
        until = clock::now() + list_life;
}

std::int64_t held_locks::join(std::string const& channel, std::string const& client, bool is_first)
{
    auto* list = list_of(channel);
    if (!list)
        list = &lists_[list_name(channel)];
    list->keep();
    auto& all = list->clients;
    all.insert(is_first ? all.begin() : all.end(), client);
    return static_cast<std::int64_t>(all.size());
}

bool held_locks::drop(std::string const& channel, std::string const& client)
{
    auto* const list = list_of(channel);
    if (!list)
        return false;
    auto const entry = std::ranges::find(list->clients, client);
    bool const stood = entry != list->clients.end();
    if (stood)
        list->clients.erase(entry);
    return stood;
}

// That somebody waits, if it is a client that may keep the lock.
void held_locks::tell_holder(std::string const& field, std::string const& channel)
{
    if (field.size() > variant_place && field[variant_place] == 'b' && field[version_place] == '8')
        outside_.publish(channel + ":" + client_of(field) + ":wanted", {});
}

// Gives it the lock, and tells its client; takes the lock back if nobody hears.
bool held_locks::pass(std::string const& key, std::string const& channel, passing_words const& to)
{
    auto const colon = to.field.find(':');
    auto const turn = channel + ":" + to.field.substr(0, colon);
    if (outside_.count(turn) == 0)
        return false;
    auto const token = to.counter.empty() ? 0 : ++tokens_[to.counter];
    locks_[key][to.field] = {1, after(to.lease)};
    outside_.publish(
        turn, "0:" + to.field.substr(colon + 1) + ":" + std::to_string(token) + ":" + to.secret
    );
    return true;
}

bool held_locks::tell_first(
    std::string const& channel, std::int64_t message, std::string const& passed_key
)
{
    while (auto* const list = list_of(channel)) {
        auto const entry = list->clients.front();
        auto const turn = channel + ":" + client_of(entry);
        list->clients.pop_front();
        if (passing_words const to{entry, passed_key}; !passed_key.empty() && !to.field.empty()) {
            if (pass(passed_key, channel, to))
                return true;
            continue;
        }
        auto const bar = entry.find('|');
        auto const number = bar == std::string::npos
            ? std::string{}
            : ":" + entry.substr(entry.find(':') + 1, bar - entry.find(':') - 1);
        if (outside_.publish(turn, std::to_string(message) + number) > 0)
            return true;
    }
    return false;
}

reply held_locks::extend(script_call const& c)
{
    if (!has(c.key(), c.argument(0)))
        return of_bool(false);
    locks_[c.key()][c.argument(0)] = {c.number(1), after(c.number(2))};
    return of_bool(true);
}

reply held_locks::renew(script_call const& c)
{
    if (!has(c.key(), c.argument(0)))
        return of_bool(false);
    locks_[c.key()][c.argument(0)].until = after(c.number(1));
    return of_bool(true);
}

reply held_locks::release(script_call const& c) { return give_back(c, "0", true); }

reply held_locks::give_back(script_call const& c, std::string const& message, bool passes)
{
    if (!remove(c.key(), c.argument(0)))
        return {};
    auto const channel = c.argument(1), list = c.argument(2), entry = c.argument(3);
    std::int64_t const receivers = outside_.publish(channel, message);
    bool const may_pass = passes && receivers == 0 && !find(c.key());
    if (!tell_first(channel, receivers, may_pass ? c.key() : std::string{}))
        return reply::of(receivers);
    bool const joins = !entry.empty();
    if (joins)
        join(list, entry, false);
    return reply::of(std::vector{reply::of(receivers), reply::of(std::int64_t{joins})});
}

reply held_locks::leave(script_call const& c)
{
    auto const channel = c.argument(0), client = c.argument(1);
    auto const* const list = list_of(channel);
    bool const is_first = list && list->clients.front() == client;
    auto const bar = client.find('|');
    bool const stood = drop(channel, client);
    while (bar != std::string::npos && drop(channel, client)) {}
    bool const gives_back =
        !stood && bar != std::string::npos && remove(c.key(), client.substr(0, bar));
    std::int64_t const receivers = gives_back ? outside_.publish(channel, "0") : 0;
    // The release of the one that has a plain lock tells the first.
    auto const* const lock = find(c.key());
    bool const is_plain = channel.find("redisson_rwlock:{") == channel.npos;
    bool const is_held = is_plain && lock && lock->size() == 1 && tells_first(lock->begin()->first);
    if (!stood || (is_first && !is_held))
        tell_first(channel, receivers);
    return of_bool(stood);
}

reply held_locks::force(script_call const& c)
{
    bool const was_held = outside_.occupied.erase(c.key()) != 0 || find(c.key());
    locks_.erase(c.key());
    if (was_held)
        tell_first(c.argument(0), outside_.publish(c.argument(0), "0"));
    return of_bool(was_held);
}

reply held_locks::adopt(script_call const& c)
{
    auto const from = c.argument(0), to = c.argument(1);
    if (!has(c.key(), from) && !has(c.key(), to))
        return reply::of(std::vector{reply::of(pttl(c.key()))});
    if (from != to)
        locks_[c.key()].erase(from);
    locks_[c.key()][to] = {1, after(c.number(2))};
    return reply::of(c.keys.size() == 2 ? ++tokens_[c.key(1)] : 0);
}

reply held_locks::request(script_call const& c)
{
    return reply::of(static_cast<std::int64_t>(outside_.publish(c.argument(0), "")));
}

reply held_locks::inspect(script_call const& c)
{
    auto const found = [&](std::string_view mode, std::size_t count) {
        return reply::of(std::vector{
            reply::of(pttl(c.key())), reply::of(mode), reply::of(static_cast<std::int64_t>(count))}
        );
    };
    if (outside_.occupied.contains(c.key()))
        return found("write", 2);
    auto const* const lock = find(c.key());
    if (is_written(c.key()) || is_read(c.key()))
        return found(is_written(c.key()) ? "write" : "read", lock->size() + 1);
    return found("", lock ? lock->size() : 0);
}

// ---- Read-write --------------------------------------------------------------------------------

reply held_locks::read_acquire(script_call const& c)
{
    if ((find(c.key()) && !is_read(c.key())) || outside_.blocks(c.key()))
        return refusal(c.key());
    locks_[c.key()][c.argument(0)] = {1, after(c.number(1)), true};
    return reply::of(std::int64_t{0});
}

reply held_locks::read_extend(script_call const& c)
{
    auto const field = c.argument(0);
    if (!has(c.key(), field) && !has(c.key(), field + std::string{write_end}))
        return of_bool(false);
    locks_[c.key()][field] = {c.number(1), after(c.number(2)), true};
    return of_bool(true);
}

// Somebody who writes, too, keeps the longest lease that he had.
reply held_locks::read_release(script_call const& c)
{
    if (!has(c.key(), c.argument(0)))
        return {};
    auto const had = locks_[c.key()][c.argument(0)].until;
    remove(c.key(), c.argument(0));
    auto* const rest = find(c.key());
    if (!rest) {
        auto const receivers = outside_.publish(c.argument(1), "0");
        tell_first(c.argument(1), receivers);
        return reply::of(std::int64_t{receivers});
    }
    for (auto& [field, one] : *rest)
        if (field.ends_with(write_end))
            one.until = std::max(one.until, had);
    return reply::of(std::int64_t{0});
}

reply held_locks::write_acquire(script_call const& c) { return acquire(c); }

reply held_locks::write_release(script_call const& c) { return give_back(c, "1", false); }

reply held_locks::read_write_force(script_call const& c)
{
    bool const writes = c.argument(0) == "write";
    auto const key = c.key();
    bool const was_occupied = writes && outside_.occupied.erase(key) != 0;
    bool const was_held = was_occupied || (writes ? is_written(key) : is_read(key));
    if (was_held) {
        locks_.erase(key);
        auto const channel = c.argument(1);
        tell_first(channel, outside_.publish(channel, writes ? "1" : "0"));
    }
    return of_bool(was_held);
}

// ---- Elections ---------------------------------------------------------------------------------

reply held_locks::leader_publish(script_call const& c)
{
    bool const leads = has(c.key(), c.argument(0));
    if (leads)
        leaders_[c.key(1)] = {c.argument(0), c.argument(2), c.number(1)};
    return of_bool(leads);
}

reply held_locks::leader_read(script_call const& c)
{
    auto const at = leaders_.find(c.key(1));
    if (at == leaders_.end() || outside_.blocks(c.key()) || !has(c.key(), at->second.field))
        return of_bool(pttl(c.key()) != -2);
    return reply::of(std::vector{reply::of(at->second.token), reply::of(at->second.words)});
}

}  // namespace colock::testing
