#include "decide/names.hpp"
#include "redis/link_settings.hpp"
#include "redis/permissions.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>

namespace colock {

using decide::reply;

namespace {

// ARGV holds the commands to ask about, each with the number of its words in front; the reply has
// the places of those that are refused, from 1. Servers before 7.0 can't tell, so the script tries
// TIME there: without it no lock with a token can be taken.
constexpr std::string_view probe_script = R"(
local check = redis.acl_check_cmd or function(command)
    return command ~= 'time' or not redis.pcall('time').err
end
local refused, number, at = {}, 0, 1
while at < #ARGV do
    local last = at + ARGV[at]
    local known, allowed = pcall(check, unpack(ARGV, at + 1, last))
    number = number + 1
    if not known or not allowed then
        refused[#refused + 1] = number
    end
    at = last + 1
end
return refused
)";

// The commands that scripts call, for one key. Each is complete, because some servers read words of
// `set` that aren't there, and crash (Redis 7.0 and Valkey 8.0).
constexpr std::array<std::string_view, 31> script_commands{
    "decrby K 1",    "del K",        "exists K",
    "get K",         "hdel K f",     "hexists K f",
    "hget K f",      "hgetall K",    "hkeys K",
    "hlen K",        "hset K f 0",   "hscan K 0",
    "incrby K 1",    "lindex K 0",   "lpop K",
    "lpos K f",      "lrange K 0 0", "lrem K 0 f",
    "pexpire K 1",   "pttl K",       "rpush K f",
    "set K 0",       "zadd K 0 f",   "zcount K 0 0",
    "zincrby K 0 f", "zrange K 0 0", "zrangebyscore K 0 0",
    "zrank K f",     "zrem K f",     "zscore K f",
    "time"};

struct command_check {
    std::vector<std::string> words;
    bool has_key = false;
};

/// Stands for all channels: it begins like those of locks, but is none of them, because they close
/// the brace.
std::string sample_channel(config const& c)
{
    return c.key_prefix + "redisson_lock__channel:{" + c.key_prefix + "colock_probe";
}

/// The commands of the way of publishing that is used.
struct message_commands {
    explicit message_commands(publishing how)
    {
        if (how != publishing::sharded)
            all = {"publish", "subscribe", "unsubscribe"};
        if (how == publishing::sharded || how == publishing::both)
            all.insert(all.end(), {"spublish", "ssubscribe", "sunsubscribe"});
    }
    std::vector<std::string> all;
};

/// How scripts count those who wait.
std::vector<std::string> counting_commands(publishing how)
{
    std::vector<std::string> all;
    if (how != publishing::sharded)
        all.emplace_back("numsub");
    if (how == publishing::sharded || how == publishing::both)
        all.emplace_back("shardnumsub");
    return all;
}

std::vector<command_check> all_checks(config const& c, publishing how)
{
    auto const channel = sample_channel(c);
    std::vector<command_check> all{{{"ping"}}, {{"evalsha", std::string(40, '0'), "0"}}};
    for (auto const& command : message_commands{how}.all) {
        all.push_back({{command, channel}});
        if (command.ends_with("publish"))
            all.back().words.emplace_back("0");
    }
    for (auto const& command : counting_commands(how))
        all.push_back({{"pubsub", command, channel}});
    for (auto rest : script_commands) {
        command_check& next = all.emplace_back();
        for (auto end = rest.find(' ');; end = rest.find(' ')) {
            auto const word = rest.substr(0, end);
            next.has_key |= word == "K";
            next.words.push_back(
                word == "K" ? c.key_prefix + std::string{decide::fence_counter(0)}
                            : std::string{word}
            );
            if (end == rest.npos)
                break;
            rest.remove_prefix(end + 1);
        }
    }
    return all;
}

std::string user_of(config const& c)
{
    if (!c.username.empty())
        return c.username;
    return c.credentials ? "<the user of config::credentials>" : "default";
}

std::string remedy(config const& c, std::string const& rules)
{
    return ". Remedy: ACL SETUSER " + user_of(c) + rules;
}

/// The commands that the server refuses.
class refusals {
public:
    refusals(std::vector<command_check> const& all, reply const& places)
    {
        keyed_ = std::ranges::count_if(all, &command_check::has_key);
        for (auto const& place : places.items) {
            auto const at = static_cast<std::size_t>(place.number) - 1;
            if (at < all.size())
                refused_.push_back(all[at]);
        }
    }

    bool has(std::string_view command) const
    {
        return std::ranges::any_of(refused_, [command](command_check const& q) {
            return q.words.front() == command;
        });
    }

    /// Then it is the key of the questions that is refused.
    bool has_all_keyed() const
    {
        return std::ranges::count_if(refused_, &command_check::has_key) == keyed_;
    }

    /// The missing permissions of scripts, as ACL rules.
    std::string script_rules() const
    {
        std::string rules;
        for (auto const& q : refused_)
            if (q.words.front() == "time" || (q.has_key && !has_all_keyed()))
                rules += " +" + q.words.front();
        return rules;
    }

private:
    std::vector<command_check> refused_;
    std::ptrdiff_t keyed_ = 0;
};

/// About messages between clients. If all commands are refused, the channel may be the reason.
void judge_messages(
    refusals const& refused, config const& c, publishing how, std::vector<std::string>& warnings
)
{
    std::string publish, subscribe;
    bool is_any_allowed = false;
    for (auto const& command : message_commands{how}.all) {
        auto& rules = command.ends_with("publish") ? publish : subscribe;
        if (refused.has(command))
            rules += " +" + command;
        else if (!command.ends_with("unsubscribe"))
            is_any_allowed = true;
    }
    auto const channels = is_any_allowed ? std::string{} : " &" + c.key_prefix + "redisson_*";
    auto const user = "user " + user_of(c);
    if (!publish.empty())
        warnings.push_back(
            user + " may not publish to locks' channels: waiters of other clients poll" +
            remedy(c, publish + channels)
        );
    if (!subscribe.empty())
        warnings.push_back(
            user + " may not subscribe to locks' channels: waiters poll, up to config::poll_cap" +
            remedy(c, subscribe + channels)
        );
}

void judge_counting(
    refusals const& refused, config const& c, publishing how, std::vector<std::string>& warnings
)
{
    if (!refused.has("pubsub"))
        return;
    std::string rules;
    for (auto const& command : counting_commands(how))
        rules += " +pubsub|" + command;
    warnings.push_back(
        "user " + user_of(c) +
        " may not count who listens: what dead waiters leave in wait lists stays there longer" +
        remedy(c, rules)
    );
}

missing_permissions judge(refusals const& refused, config const& c, publishing how)
{
    auto const user = "user " + user_of(c);
    missing_permissions found;
    if (refused.has("ping"))
        found.refusal = user + " may not run PING" + remedy(c, " +ping");
    else if (c.fencing && refused.has("time"))
        found.refusal =
            user + " may not run TIME, so there are no fencing tokens" + remedy(c, " +time");
    else if (c.fencing && refused.has_all_keyed())
        found.refusal = user + " may not touch the fencing counters" +
            remedy(c, " ~" + c.key_prefix + "colock_fence:*") + ", or config::fencing = false";
    if (!found.refusal.empty())
        return found;
    found.by_text = refused.has("evalsha");
    if (found.by_text)
        found.warnings.push_back(
            user + " may not run EVALSHA, each script is sent as text" + remedy(c, " +evalsha")
        );
    if (auto const rules = refused.script_rules(); !rules.empty())
        found.warnings.push_back(
            user + " may not run what some scripts call, and those will fail" + remedy(c, rules)
        );
    judge_messages(refused, c, how, found.warnings);
    judge_counting(refused, c, how, found.warnings);
    return found;
}

}  // namespace

void pubsub_permission_probe(resp::writer& to, config const& c, publishing how)
{
    std::vector<std::string> words{"EVAL", std::string{probe_script}, "0"};
    for (auto& each : all_checks(c, how)) {
        words.push_back(std::to_string(each.words.size()));
        std::ranges::move(each.words, std::back_inserter(words));
    }
    to.push_range(words);
}

missing_permissions judge_permissions(reply const& answer, config const& c, publishing how)
{
    if (answer.what != reply::kind::error)
        return judge({all_checks(c, how), answer}, c, how);
    bool const is_unknown = answer.text.find("unknown command") != std::string::npos;
    auto const rule = permission_remedy(answer.text, c);
    if (!is_unknown && rule.empty())
        return {};  // the first script will show the reason
    auto const mend = is_unknown ? ". Remedy: no rename-command for EVAL" : rule;
    return {"the server refuses EVAL: " + redacted(answer.text, c) + mend, {}, false};
}

std::string permission_remedy(
    std::string_view text, config const& c, std::span<std::string_view const> keys
)
{
    if (text.find("Write commands not allowed after non deterministic commands") != text.npos)
        return ". Remedy: lua-replicate-commands yes";
    bool const in_script = text.find("user executing the script") != text.npos;
    bool const is_acl =
        text.starts_with("NOPERM") || text.find("ACL failure in script") != text.npos;
    if (!in_script && !is_acl)
        return {};
    if (text.find("key") != text.npos) {
        std::string names;
        for (auto const key : keys)
            names.append(names.empty() ? "; its keys: " : ", ").append(key);
        return names + remedy(c, " ~<pattern of its keys>");
    }
    // The server's text has the command in quotes, if it is none that a script has called.
    auto const shown = redacted(text, c);
    auto const open = shown.find('\'');
    auto const close = open == shown.npos ? open : shown.find('\'', open + 1);
    if (in_script || close == shown.npos)
        return ". Remedy: for user " + user_of(c) + " the rules in docs/deployments.md";
    return remedy(c, " +" + shown.substr(open + 1, close - open - 1));
}

}  // namespace colock
