// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "redis/call_batch.hpp"
#include "support/fake_server.hpp"

#include <boost/asio/post.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <utility>

namespace colock::test {

void fake_server::attach(fake_transport& to)
{
    to_ = &to;
    to.serve = [this](call const& c) { return run(c); };
}

fake_server::lock_value* fake_server::find(std::string const& key)
{
    auto const at = locks.find(key);
    if (at == locks.end())
        return nullptr;
    if (at->second.until > clock::now() && !at->second.fields.empty())
        return &at->second;
    locks.erase(at);
    return nullptr;
}

bool fake_server::is_locked(std::string const& key) { return find(key) != nullptr; }

std::set<std::string> fake_server::fields(std::string const& key)
{
    std::set<std::string> names;
    if (auto* const lock = find(key))
        for (auto const& [field, depth] : lock->fields)
            names.insert(field);
    return names;
}

void fake_server::occupy(std::string const& key, milliseconds lease)
{
    locks[key] = {{{"somebody:1", 1}}, clock::now() + lease};
}

void fake_server::free(std::string const& key)
{
    locks.erase(key);
    to_->publish("redisson_lock__channel:{" + key + "}");
}

answer fake_server::run(call const& c)
{
    auto const replied = [](reply r) {
        return answer{answer::kind::replied, std::move(r), {}, {}};
    };
    if (c.what == &scripts::acquire)
        return replied(run_acquire(c));
    if (c.what == &scripts::release)
        return replied(run_release(c));
    if (c.what == &scripts::expiring)
        return replied(run_expiring(c));
    if (c.what == &scripts::renew) {
        std::vector<reply> each;
        for (std::size_t i = 0; i != c.keys.size(); ++i)
            each.push_back(run_renew(c, i));
        return replied(reply::of(std::move(each)));
    }
    auto* const lock = find(c.key());
    if (c.what == &scripts::inspect)
        return replied(inspected(lock ? 1 : -2));
    if (c.what == &scripts::force) {
        free(c.key());
        return replied(reply::of(std::int64_t{lock ? 1 : 0}));
    }
    if (!lock || !lock->fields.contains(c.field()))
        return replied(not_there());
    lock->fields[c.field()] = std::stoi(c.depth());
    lock->until = clock::now() + milliseconds{std::stoll(c.lease())};
    return replied(done());
}

reply fake_server::run_expiring(call const& c)
{
    std::vector<reply> places;
    for (std::size_t i = 0; i != c.keys.size(); ++i) {
        auto const* const lock = find(c.keys[i]);
        std::int64_t const pttl = lock
            ? std::chrono::duration_cast<milliseconds>(lock->until - clock::now()).count()
            : -2;
        if (pttl >= std::stoll(c.arguments.at(0)))
            continue;
        places.push_back(reply::of(static_cast<std::int64_t>(i + 1)));
        places.push_back(reply::of(pttl));
    }
    return reply::of(std::move(places));
}

reply fake_server::run_renew(call const& c, std::size_t i)
{
    auto* const lock = find(c.keys.at(i));
    if (!lock || !lock->fields.contains(c.arguments.at(2 * i)))
        return not_there();
    lock->until = clock::now() + milliseconds{std::stoll(c.arguments.at(2 * i + 1))};
    return done();
}

reply fake_server::run_acquire(call const& c)
{
    auto* lock = find(c.key());
    if (lock && !lock->fields.contains(c.field()))
        return refused(std::chrono::duration_cast<milliseconds>(lock->until - clock::now()).count()
        );
    locks[c.key()] = {{{c.field(), 1}}, clock::now() + milliseconds{std::stoll(c.lease())}};
    return granted(last_token += std::stoll(c.arguments.at(2)));
}

reply fake_server::run_release(call const& c)
{
    auto* const lock = find(c.key());
    if (!lock || lock->fields.erase(c.field()) == 0)
        return gone();
    if (lock->fields.empty())
        locks.erase(c.key());
    auto const& channel = c.arguments.at(1);
    to_->publish(channel);
    return released(others + (to_->subscribed().contains(channel) ? 1 : 0));
}

}  // namespace colock::test
