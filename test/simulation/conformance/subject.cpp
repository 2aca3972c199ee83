// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "simulation/conformance/subject.hpp"
#include "support/places.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>

namespace colock::simulation {

namespace {

/// Published to hear that all before has come.
constexpr auto end_channel = "end of messages";

constexpr std::string_view look_at_everything = R"(
local reads = {
    string = {'get'}, hash = {'hgetall'}, list = {'lrange', 0, -1},
    zset = {'zrange', 0, -1, 'withscores'}
}
local keys = redis.call('keys', '*')
table.sort(keys)
local all = {}
for i, key in ipairs(keys) do
    local type = redis.call('type', key).ok
    local command, first, last, scores = unpack(reads[type])
    local content = scores and redis.call(command, key, first, last, scores) or
        first and redis.call(command, key, first, last) or redis.call(command, key)
    all[i] = {key, type, redis.call('pttl', key), content}
end
return all
)";

std::vector<std::string_view> views(strings const& all) { return {all.begin(), all.end()}; }

/// What starts while this lives has that variable in its environment.
class in_environment {
public:
    in_environment(char const* name, std::string const& content) : name_{name}
    {
        ::setenv(name, content.c_str(), 1);
    }
    in_environment(in_environment const&) = delete;
    in_environment& operator=(in_environment const&) = delete;
    ~in_environment() { ::unsetenv(name_); }

private:
    char const* name_;
};

}  // namespace

reply subject::call(std::string_view script, strings const& keys, strings arguments)
{
    arguments.emplace_back("7");
    auto got = run(script, keys, arguments);
    if (got.what == reply::kind::error)
        return got;
    BOOST_TEST_REQUIRE(!got.items.empty());
    BOOST_TEST(got.items.front().text == arguments.back());
    got.items.erase(got.items.begin());
    return got;
}

reply subject::everything() { return run(look_at_everything, {}, {}); }

// ---- In process --------------------------------------------------------------------------------

simulated::simulated()
{
    server_.publish = [this](audience to, std::string_view channel, std::string_view payload) {
        if (!channels_.contains({to, std::string{channel}}))
            return 0;
        heard_.push_back(
            (to == audience::channel ? "message " : "smessage ") + std::string{channel} + ' ' +
            std::string{payload}
        );
        return 1;
    };
    server_.subscribers = [this](audience to, std::string_view channel) {
        return std::int64_t{channels_.contains({to, std::string{channel}})};
    };
}

// A real server answers by RESP2 here, in which members and their scores are one list.
reply simulated::command(strings const& words)
{
    auto got = server_.command(views(words));
    if (words.back() != "withscores" && words.back() != "WITHSCORES")
        return got;
    std::vector<reply> flat;
    for (auto& each : got.items)
        std::ranges::move(each.items, std::back_inserter(flat));
    got.items = std::move(flat);
    return got;
}

reply simulated::run(std::string_view script, strings const& keys, strings const& arguments)
{
    return server_.run(script, views(keys), views(arguments));
}

void simulated::listen(audience to, std::string const& channel, bool does)
{
    if (does)
        channels_.emplace(to, channel);
    else
        channels_.erase({to, channel});
}

// ---- Real --------------------------------------------------------------------------------------

real::real(test::server_kind kind)
{
    in_environment const with_library{
        "LD_PRELOAD", test::beside_this_program("libcolock-wall-clock-shift.so")};
    in_environment const with_clock{"COLOCK_WALL_CLOCK_AT", file_.path()};
    server_ = std::make_unique<test::redis_server>(
        kind, std::vector<std::string>{"enable-debug-command local"}
    );
    // In the background Redis 8 removes keys in the millisecond in which their lease ends, at a
    // moment of its own; a command finds them for all of it, as with other servers.
    server_->command({"DEBUG", "SET-ACTIVE-EXPIRE", "0"});
    ear_ = std::make_unique<test::redis_cli>(server_->unix_socket());
    ear_->command({"SUBSCRIBE", end_channel});
}

void real::set_clock(std::int64_t microseconds)
{
    *static_cast<std::int64_t*>(clock_.at()) = microseconds;
}

reply real::run(std::string_view script, strings const& keys, strings const& arguments)
{
    strings words{"EVAL", std::string{script}, std::to_string(keys.size())};
    words.insert(words.end(), keys.begin(), keys.end());
    words.insert(words.end(), arguments.begin(), arguments.end());
    return server_->command(words);
}

// Called when no message is on its way: the next that comes is the answer.
void real::listen(audience to, std::string const& channel, bool does)
{
    std::string const verb = does ? "SUBSCRIBE" : "UNSUBSCRIBE";
    ear_->command({to == audience::channel ? verb : "S" + verb, channel});
}

strings real::heard()
{
    server_->command({"PUBLISH", end_channel, ""});
    strings all;
    for (;;) {
        auto const message = ear_->read();
        auto const& channel = message.items.at(1).text;
        if (channel == end_channel)
            return all;
        all.push_back(message.items.at(0).text + ' ' + channel + ' ' + message.items.at(2).text);
    }
}

// ---- Comparing ---------------------------------------------------------------------------------

namespace {

std::string in_words_of_valkey(std::string text)
{
    constexpr std::pair<std::string_view, std::string_view> words[] = {
        {"Lua redis lib command", "Command"},
        {"Redis command", "command"},
        {"this redis lib call", "this call"}};
    for (auto const& [of_redis, of_valkey] : words)
        if (auto const at = text.find(of_redis); at != text.npos)
            text.replace(at, of_redis.size(), of_valkey);
    return text;
}

bool is_same_number(std::string const& a, std::string const& b)
{
    auto const is_number = [](std::string const& text) {
        return !text.empty() && text.find_first_not_of("0123456789+-.e") == text.npos;
    };
    bool const is_exact = (a + b).find_first_of(".e") == a.npos && a.size() <= 20;
    return !is_exact && is_number(a) && is_number(b) &&
        std::strtod(a.c_str(), nullptr) == std::strtod(b.c_str(), nullptr);
}

}  // namespace

bool are_alike(reply const& a, reply const& b)
{
    if (a.what != b.what || a.number != b.number)
        return false;
    if (a.what == reply::kind::error)
        return in_words_of_valkey(a.text) == in_words_of_valkey(b.text);
    return (a.text == b.text || is_same_number(a.text, b.text)) &&
        std::ranges::equal(a.items, b.items, &are_alike);
}

std::string to_string(reply const& r)
{
    using kind = reply::kind;
    switch (r.what) {
    case kind::nil: return "nil";
    case kind::integer: return std::to_string(r.number);
    case kind::text: return '"' + r.text + '"';
    case kind::error: return "error " + r.text;
    case kind::list: break;
    }
    std::string all;
    for (auto const& item : r.items)
        all += (all.empty() ? "" : ", ") + to_string(item);
    return '[' + all + ']';
}

}  // namespace colock::simulation
