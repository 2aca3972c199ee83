// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "unit/harness.hpp"
#include "unit/random_seed.hpp"

#include <array>
#include <deque>
#include <list>
#include <map>
#include <set>

// The server, the network and the processes of a random walk.
namespace colock::test::walking {

struct node;

/// A server that the clients share, and the network to it.
class slow_server {
public:
    explicit slow_server(random_numbers& r) : random_{r} {}

    void take_in(node& from, call const& c, std::size_t number, unsigned link);
    void tick();

    /// The connection is gone: what was not read of it may still be run until it is made again.
    void forget(node const& from, unsigned link);

    bool is_locked(std::string const& key) { return find(key) != nullptr; }

    /// The ownership of this token stands.
    bool stands(std::string const& key, std::int64_t token)
    {
        auto* const lock = find(key);
        return lock && lock->field == fields_.at(token);
    }

    /// What happened to the ownership that a key has now.
    std::string story_of(std::string const& key)
    {
        auto* const lock = find(key);
        return key + (lock ? " stands:" + stories_[lock->field] : " is free");
    }

    int trouble = 0;  ///< in a hundred
    std::vector<node*> nodes;

private:
    struct lock_value {
        std::string field;
        int depth = 1;
        time_point until;
    };
    struct message {
        node* from;
        call what;
        std::size_t number;
        unsigned link;
        time_point run_at, answer_at;
        std::optional<decide::reply> result{};
        bool refuse = false;
    };

    lock_value* find(std::string const& key);
    decide::reply run(call const&);
    void note(call const& c, std::string_view what)
    {
        auto const ms = std::chrono::duration_cast<milliseconds>(clock::now().time_since_epoch());
        if (!c.arguments.empty())
            stories_[c.field()] += "\n  " + std::to_string(ms.count() % 1'000'000) + " " +
                std::string{c.what->name} + " " + std::string{what};
    }

    random_numbers& random_;
    std::map<std::string, std::string> stories_;  ///< of each field
    std::map<std::string, lock_value> locks_;
    std::map<std::int64_t, std::string> fields_;
    std::list<message> under_way_;
    std::int64_t tokens_ = 0;
};

inline config walk_config()
{
    config c;
    c.lease = 300ms;
    c.linger = 20ms;
    c.timeout = 100ms;
    c.poll_cap = 50ms;
    c.links = 2;
    c.log = {[](log_level, std::string_view) {}, log_level::off};
    return c;
}

/// A process with a client.
struct node {
    explicit node(slow_server& s)
        : client{detail::client_access::make(detail::core::make(
              context.get_executor(),
              walk_config(),
              [this](detail::core& c, transport_listener& who) {
                  auto made = std::make_unique<fake_transport>(c, who);
                  transport = made.get();
                  return made;
              }
          ))}
    {
        transport->serve = [this, &s](call const& c) -> std::optional<answer> {
            s.take_in(*this, c, transport->written().size() - 1, transport->link_of(c.slot));
            return {};
        };
        s.nodes.push_back(this);
        client.run(run.token());
    }

    void poll()
    {
        for (int idle = 0; idle != 2; ++idle) {
            if (context.stopped())
                context.restart();
            while (context.poll() != 0)
                idle = 0;
        }
    }

    /// What an acquire was asked for, and what came of it.
    struct asked {
        std::string key;
        pending_hold p;
        pending_try t;
        bool is_try = false;
        bool seen = false, was_held = false;
        bool is_done() const { return is_try ? t.is_done() : p.is_done(); }
        hold* held()
        {
            if (!is_try)
                return p.is_done() ? &p.value() : nullptr;
            return t.is_done() && t.value() ? &*t.value() : nullptr;
        }
        int calls() const { return is_try ? t.calls() : p.calls(); }
        void cancel() { is_try ? t.cancel() : p.cancel(); }
    };

    asio::io_context context;
    fake_transport* transport = nullptr;
    pending<> run;
    colock::client client;
    std::array<owner, 2> owners;
    std::deque<asked> acquires;
    std::deque<pending<>> others;
    int paused = 0;  ///< milliseconds that it stands still
};

inline void slow_server::take_in(node& from, call const& c, std::size_t number, unsigned link)
{
    auto const way = [&] {
        bool const slow = random_.below(100) < trouble;
        return milliseconds{slow ? random_.below(400) : random_.below(3)};
    };
    auto const run_at = clock::now() + way();
    under_way_.push_back({&from, c, number, link, run_at, run_at + way()});
    under_way_.back().refuse = random_.below(200) < trouble;
    note(c, "written");
}

inline void slow_server::tick()
{
    auto const now = clock::now();
    for (auto at = under_way_.begin(); at != under_way_.end();) {
        auto& m = *at;
        // A connection keeps its order: nothing overtakes on it.
        bool const first = std::ranges::none_of(under_way_.begin(), at, [&](auto const& other) {
            return other.from == m.from && other.link == m.link;
        });
        if (!m.result && m.run_at <= now && (first || std::prev(at)->result)) {
            bool const blocked =
                std::ranges::any_of(under_way_.begin(), at, [&](auto const& other) {
                    return other.from == m.from && other.link == m.link && !other.result;
                });
            if (!blocked)
                note(m.what, m.refuse ? "refused" : "run");
            if (!blocked)
                m.result = m.refuse ? decide::reply::error("BUSY") : run(m.what);
        }
        if (!m.result || m.answer_at > now || !first) {
            ++at;
            continue;
        }
        note(m.what, "answered");
        if (m.refuse)
            m.from->transport->answer_call(
                m.number, {answer::kind::not_now, {}, error::unavailable, {}}
            );
        else
            m.from->transport->answer_call(m.number, {answer::kind::replied, *m.result, {}, {}});
        at = under_way_.erase(at);
    }
}

inline void slow_server::forget(node const& from, unsigned link)
{
    std::erase_if(under_way_, [&](auto const& m) {
        bool const gone = m.from == &from && m.link == link;
        if (gone)
            note(m.what, "forgotten");
        return gone;
    });
}

inline slow_server::lock_value* slow_server::find(std::string const& key)
{
    auto const at = locks_.find(key);
    if (at == locks_.end())
        return nullptr;
    if (at->second.until > clock::now())
        return &at->second;
    locks_.erase(at);
    return nullptr;
}

inline decide::reply slow_server::run(call const& c)
{
    auto const now = clock::now();
    auto* const lock = find(c.key());
    bool const mine = lock && lock->field == c.field();
    auto const lease = [&] { return milliseconds{std::stoll(c.lease())}; };
    if (c.what == &scripts::acquire) {
        if (lock && !mine)
            return refused(std::chrono::duration_cast<milliseconds>(lock->until - now).count());
        locks_[c.key()] = {c.field(), 1, now + lease()};
        for (auto n = std::stoll(c.arguments.at(2)); n != 0; --n)
            fields_[++tokens_] = c.field();
        return granted(tokens_);
    }
    if (c.what == &scripts::release) {
        if (!mine)
            return gone();
        locks_.erase(c.key());
        std::int64_t receivers = 0;
        for (auto* n : nodes) {
            receivers += n->transport->subscribed().contains(c.arguments.at(1)) ? 1 : 0;
            n->transport->publish(c.arguments.at(1));
        }
        return released(receivers);
    }
    if (c.what == &scripts::expiring) {
        std::vector<decide::reply> places;
        for (std::size_t i = 0; i != c.keys.size(); ++i) {
            auto const* const held = find(c.keys[i]);
            places.push_back(decide::reply::of(static_cast<std::int64_t>(i + 1)));
            places.push_back(decide::reply::of(
                held ? std::chrono::duration_cast<milliseconds>(held->until - now).count()
                     : std::int64_t{-2}
            ));
        }
        return decide::reply::of(std::move(places));
    }
    if (c.what == &scripts::renew) {
        std::vector<decide::reply> each;
        for (std::size_t i = 0; i != c.keys.size(); ++i) {
            auto* const held = find(c.keys[i]);
            bool const stands = held && held->field == c.arguments[2 * i];
            if (stands)
                held->until = now + milliseconds{std::stoll(c.arguments[2 * i + 1])};
            each.push_back(stands ? done() : not_there());
        }
        return decide::reply::of(std::move(each));
    }
    if (!mine)
        return not_there();
    lock->depth = std::stoi(c.depth());
    lock->until = now + lease();
    return done();
}

}  // namespace colock::test::walking
