// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "decide/names.hpp"
#include "redis/any_command.hpp"
#include "unit/script_server.hpp"

#include <algorithm>
#include <utility>

namespace colock::test {

namespace {

using namespace std::chrono_literals;

constexpr std::string_view somebody = "somebody:1";

}  // namespace

script_server::script_server() : redis_{[this] { return time(); }}
{
    redis_.started = time() - std::chrono::microseconds{24h}.count();
    redis_.publish = [this](
                         simulation::audience, std::string_view channel, std::string_view payload
                     ) { return publish(channel, payload); };
    redis_.subscribers = [this](simulation::audience, std::string_view channel) {
        return others + std::ranges::count_if(clients_, [&](fake_transport const* each) {
                   return each->subscribed().contains(std::string{channel});
               });
    };
}

void script_server::attach(fake_transport& to)
{
    if (std::ranges::find(clients_, &to) == clients_.end())
        clients_.push_back(&to);
    to.serve = [this](call const& c) {
        return std::optional{answer{answer::kind::replied, run(c), {}, {}}};
    };
}

void script_server::start_again() { redis_.started = time(); }

reply script_server::run(call const& c)
{
    if (c.what == &any_command) {
        std::vector<std::string_view> words(c.arguments.begin(), c.arguments.end());
        return redis_.command(words);
    }
    std::vector<std::string_view> const keys(c.keys.begin(), c.keys.end());
    std::vector<std::string_view> arguments;
    if (c.what->traits.draws_tokens) {
        arguments.push_back(c.tokens.empty() ? c.tokens : way_to_draw);
        fence_ = c.keys.back();
    }
    arguments.insert(arguments.end(), c.arguments.begin(), c.arguments.end());
    ++calls_;
    auto got = redis_.call(c.what->text, keys, arguments);
    // A step for one lock is answered as the link does it: by its own part of the list.
    if (!c.is_whole && got.what == reply::kind::list && got.items.size() == 1)
        return std::exchange(got.items.front(), {});
    return got;
}

reply script_server::ask(std::initializer_list<std::string_view> words)
{
    return redis_.command(std::span{words.begin(), words.size()});
}

std::int64_t script_server::publish(std::string_view channel, std::string_view payload)
{
    std::string const name{channel};
    auto receivers = others;
    for (auto* each : clients_) {
        receivers += each->subscribed().contains(name) ? 1 : 0;
        each->publish(name, std::string{payload});
    }
    return receivers;
}

// ---- Locks -------------------------------------------------------------------------------------

bool script_server::is_locked(std::string const& key) { return ask({"EXISTS", key}).number == 1; }

std::set<std::string> script_server::fields(std::string const& key)
{
    std::set<std::string> names;
    auto const all = ask({"HGETALL", key});
    for (std::size_t i = 0; i < all.items.size(); i += 2)
        names.insert(all.items[i].text);
    return names;
}

milliseconds script_server::lease_left(std::string const& key)
{
    return milliseconds{ask({"PTTL", key}).number};
}

void script_server::occupy(std::string const& key, std::string_view field, milliseconds lease)
{
    ask({"DEL", key});
    ask({"HSET", key, field, "1"});
    ask({"PEXPIRE", key, std::to_string(lease.count())});
}

void script_server::occupy(std::string const& key, milliseconds lease)
{
    occupy(key, somebody, lease);
}

void script_server::free(std::string const& key)
{
    ask({"DEL", key});
    publish("redisson_lock__channel:{" + key + "}", "0");
}

std::int64_t script_server::queue_length(std::string const& key)
{
    return ask({"LLEN", "redisson_lock_queue:{" + key + "}"}).number;
}

std::int64_t script_server::last_token() { return counter(fence_); }

void script_server::draw_tokens(std::int64_t n) { ask({"INCRBY", fence_, std::to_string(n)}); }

// ---- Counters ----------------------------------------------------------------------------------

void script_server::set_counter(std::string const& key, std::int64_t value)
{
    ask({"SET", key, std::to_string(value)});
}

std::int64_t script_server::counter(std::string const& key)
{
    auto const got = ask({"GET", key});
    return got.what == reply::kind::text ? std::stoll(got.text) : 0;
}

std::int64_t script_server::permits_out(std::string const& name)
{
    return ask({"ZCOUNT", decide::permit_leases(name), "-inf", "+inf"}).number;
}

}  // namespace colock::test
