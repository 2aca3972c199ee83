#include "decide/names.hpp"
#include "double_server.hpp"
#include "redis/any_command.hpp"

#include <algorithm>
#include <utility>

namespace colock {
inline namespace v0_3 {
namespace testing {

namespace {

using simulation::audience;

/// Somebody else renews what it has.
constexpr std::int64_t lease = 30'000;

constexpr std::string_view somebody = "somebody";

std::int64_t now_in_us() { return clock::now().time_since_epoch() / std::chrono::microseconds{1}; }

std::int64_t end_of_lease() { return now_in_us() / 1'000 + lease; }

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> all)
{
    return std::ranges::find(all, name) != all.end();
}

/// It takes nothing that somebody else may have: it gives, or changes what the code under test has.
bool ignores_others(std::string_view script)
{
    return script.starts_with("latch") ||
        is_one_of(
               script,
               {"semaphore_undo",
                "semaphore_release",
                "semaphore_release_existing",
                "semaphore_set",
                "permit_extend",
                "permit_release",
                "permit_return",
                "permit_remove",
                "permit_set"}
        );
}

/// The code under test wants it, or waits for it.
bool asks(std::string_view script)
{
    return script.ends_with("acquire") ||
        is_one_of(
               script, {"adopt", "look", "fair_keep", "leader_read", "semaphore_drain", "count"}
        );
}

bool counts_permits(std::string_view script)
{
    return script.starts_with("semaphore") || script.starts_with("permit");
}

answer answer_of(reply got)
{
    if (got.what != reply::kind::error)
        return {answer::kind::replied, std::move(got), {}, {}};
    bool const is_wrong_type = decide::classify(got.text) == decide::fault::wrong_type;
    auto const why = is_wrong_type ? error::wrong_type : error::server_refused;
    return {answer::kind::failed, {}, why, {}};
}

}  // namespace

double_server::double_server(std::string prefix) : prefix_{std::move(prefix)}, redis_{now_in_us} {}

void double_server::tell(simulation::publisher publish, simulation::subscriber_count subscribers)
{
    redis_.publish = std::move(publish);
    redis_.subscribers = std::move(subscribers);
}

// ---- Steps -------------------------------------------------------------------------------------

answer double_server::run(step const& s)
{
    auto const is_refused = [this](std::string_view key) {
        return refusing.contains(std::string{key});
    };
    if (std::ranges::any_of(s.keys, is_refused))
        return {answer::kind::failed, {}, error::server_refused, {}};
    if (s.what.name == ping_command.name)
        return answer_of(reply::of("PONG"));
    if (s.what.name == any_command.name)
        return {answer::kind::replied, redis_.command(s.arguments), {}, {}};
    note(s);
    return answer_of(run_beside_others(s));
}

/// As a link does it. Tokens begin at 1, and not at the server's time. Somebody else has as many
/// permits as there are: no limit of the code under test differs from that.
reply double_server::run_script(step const& s, bool beside_others)
{
    std::vector<std::string_view> arguments;
    if (s.what.traits.draws_tokens)
        arguments.push_back(s.tokens.empty() ? s.tokens : redisson_tokens);
    arguments.insert(arguments.end(), s.arguments.begin(), s.arguments.end());
    if (beside_others && counts_permits(s.what.name) && s.what.name.ends_with("acquire"))
        arguments.back() = {};
    auto got = redis_.call(s.what.text, s.keys, arguments);
    if (!s.whole && got.what == reply::kind::list && got.items.size() == 1)
        return std::exchange(got.items.front(), {});
    return got;
}

/// While the script runs, the keys of what somebody else has hold that, in place of what they hold.
reply double_server::run_beside_others(step const& s)
{
    std::vector<std::string> taken;
    if (!ignores_others(s.what.name))
        for (auto const key : s.keys)
            if (occupied_.contains(std::string{key}))
                taken.emplace_back(key);
    if (taken.empty())
        return run_script(s, false);
    auto const ours = redis_.data();
    auto with_others = ours;
    for (auto const& key : taken)
        with_others.put(key, content_for(s.what.name, key)).expires_at = end_of_lease();
    auto const leases = decide::permit_leases(taken.front(), prefix_);
    if (s.what.name == "permit_acquire") {
        auto const end = static_cast<double>(end_of_lease());
        with_others.put(leases, simulation::sorted_set{{end, std::string{somebody}}});
        taken.push_back(leases);
    }
    redis_.restore(std::move(with_others));
    auto got = run_script(s, true);
    auto after = redis_.data();
    for (auto const& key : taken) {
        if (asks(s.what.name))
            refused_[key] = clock::now();
        if (!after.look_up(key)) {  // taken away by force
            occupied_.erase(key);
            refused_.erase(key);
        }
        if (auto const* const had = ours.look_up(key))
            after.put(key, had->content).expires_at = had->expires_at;
        else
            after.remove(key);
    }
    redis_.restore(std::move(after));
    return got;
}

/// What scripts of this kind find where somebody else has all of it: a lock, with its write side;
/// no permits; a latch that is closed.
simulation::value double_server::content_for(std::string_view script, std::string const& key)
{
    if (counts_permits(script) || (script == "count" && semaphores_.contains(key)))
        return std::string{"0"};
    if (script == "count") {
        auto const count = ask({"GET", key});
        return count.what == reply::kind::text ? count.text : std::string{"1"};
    }
    return simulation::hash{{"mode", "write"}, {std::string{somebody} + ":write", "1"}};
}

void double_server::note(step const& s)
{
    if (s.keys.empty() || s.whole)
        return;
    if (counts_permits(s.what.name))
        semaphores_.emplace(s.keys.front());
    else if (s.what.name.ends_with("acquire") || s.what.name == "adopt")
        locks_.emplace(s.keys.front());
}

reply double_server::ask(std::initializer_list<std::string_view> words)
{
    return redis_.command({words.begin(), words.size()});
}

// ---- What the test says ------------------------------------------------------------------------

void double_server::occupy(std::string const& key) { occupied_.insert(key); }

bool double_server::vacate(std::string const& key)
{
    refused_.erase(key);
    if (occupied_.erase(key) == 0)
        return false;
    tell_all(key);
    return true;
}

bool double_server::remove(std::string const& key)
{
    bool const was_lock = locks_.contains(key) && ask({"HLEN", key}).number > 0;
    if (was_lock)
        ask({"DEL", key});
    bool const were_out = lose_permits(key);
    if (!was_lock && !were_out)
        return false;
    tell_all(key);
    return true;
}

// Those who waited have to ask again for their places.
void double_server::remove_all()
{
    for (auto const& key : locks_) {
        decide::fair_keys const fair{key, prefix_};
        auto const list = decide::wait_list(key, prefix_),
                   words = decide::leader_words(key, prefix_);
        ask({"DEL", list, words, fair.queue, fair.timeouts, fair.tickets});
        if (ask({"HLEN", key}).number > 0)
            ask({"DEL", key});
    }
    for (auto const& key : semaphores_)
        lose_permits(key);
}

/// They come back.
bool double_server::lose_permits(std::string const& key)
{
    auto const leases = decide::permit_leases(key, prefix_);
    auto const out = ask({"ZCOUNT", leases, "-inf", "+inf"}).number;
    if (out == 0)
        return false;
    ask({"DEL", leases});
    ask({"INCRBY", key, std::to_string(out)});
    return true;
}

// The kind of object is unknown, so this tells the waiters for any object of this name.
void double_server::tell_all(std::string const& key)
{
    auto const publish = [this](std::string const& channel, std::string_view payload) {
        if (redis_.publish)
            redis_.publish(audience::channel, channel, payload);
    };
    auto const channel = decide::lock_channel(key, prefix_);
    publish(channel, "0");
    auto const first = ask({"LINDEX", decide::fair_keys{key, prefix_}.queue, "0"});
    if (first.what == reply::kind::text)
        publish(decide::fair_channel(key, first.text, prefix_), "0");
    publish(decide::read_write_channel(key, prefix_), "1");
    auto const permits = ask({"GET", key});
    publish(
        decide::semaphore_channel(key, prefix_),
        permits.what == reply::kind::text ? permits.text : "0"
    );
    publish(decide::latch_channel(key, prefix_), "0");
}

bool double_server::is_held(std::string const& key) { return std::ranges::count(held(), key) != 0; }

std::vector<std::string> double_server::held()
{
    std::vector<std::string> all;
    for (auto const& key : locks_)
        if (ask({"HLEN", key}).number > 0)
            all.push_back(key);
    auto const now = '(' + std::to_string(now_in_us() / 1'000);
    for (auto const& key : semaphores_)
        if (ask({"ZCOUNT", decide::permit_leases(key, prefix_), now, "+inf"}).number > 0)
            all.push_back(key);
    return all;
}

}  // namespace testing
}  // namespace v0_3
}  // namespace colock
