// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Several clients on one server that is slow, loses answers and connections, while processes stand
// still: whatever happens, a hold that is valid is one that the server has, and in the end nothing
// is left. A failure prints its seed; COLOCK_SEED repeats it.
#include "unit/harness.hpp"
#include "unit/random_seed.hpp"

#include <array>
#include <deque>
#include <list>
#include <map>
#include <set>

namespace colock::test {

namespace {

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

config walk_config()
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

void slow_server::take_in(node& from, call const& c, std::size_t number, unsigned link)
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

void slow_server::tick()
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

void slow_server::forget(node const& from, unsigned link)
{
    std::erase_if(under_way_, [&](auto const& m) {
        bool const gone = m.from == &from && m.link == link;
        if (gone)
            note(m.what, "forgotten");
        return gone;
    });
}

slow_server::lock_value* slow_server::find(std::string const& key)
{
    auto const at = locks_.find(key);
    if (at == locks_.end())
        return nullptr;
    if (at->second.until > clock::now())
        return &at->second;
    locks_.erase(at);
    return nullptr;
}

decide::reply slow_server::run(call const& c)
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

/// Does something at random, and looks whether all is well.
class walk {
public:
    walk(random_numbers& r, int trouble) : random_{r}, server_{r}
    {
        server_.trouble = trouble;
        trouble_ = trouble;
        for (int i = 0; i != 3; ++i)
            nodes_.emplace_back(server_);
        settle();
    }

    void stroll(int ms)
    {
        for (int i = 0; i != ms; ++i) {
            for (auto& n : nodes_)
                if (n.paused == 0)
                    act(n);
            pass();
        }
    }

    /// No more trouble: everybody who waits gets in and lets go, and nothing is left.
    void come_to_rest()
    {
        server_.trouble = trouble_ = 0;
        for (auto& n : nodes_) {
            n.paused = 0;
            reconnect(n, 0);
            reconnect(n, 1);
            n.transport->push_up();
        }
        for (int i = 0; i != 1'500 && !is_quiet(); ++i) {
            for (auto& n : nodes_)
                for (auto& a : n.acquires)
                    if (auto* const h = a.held())
                        *h = hold{};
            pass();
        }
        for (auto& n : nodes_) {
            for (auto& a : n.acquires)
                BOOST_TEST(a.calls() == 1);
            for (auto& o : n.others)
                BOOST_TEST(o.calls() == 1);
            auto const stats = n.client.stats();
            BOOST_TEST(stats.holds == 0U);
            BOOST_TEST(stats.waiters == 0U);
            BOOST_TEST(stats.keys == 0U);
            BOOST_TEST(stats.subscriptions == 0U);
            BOOST_TEST(stats.owed_releases == 0U);
            BOOST_TEST(n.transport->in_flight() + n.transport->unsent() == 0U);
        }
        for (auto const* key : keys)
            BOOST_TEST(!server_.is_locked(key), server_.story_of(key));
    }

    int grants() const noexcept { return grants_; }
    int losses() const noexcept { return losses_; }

private:
    static constexpr std::array keys{"a", "b"};

    bool is_quiet()
    {
        return std::ranges::all_of(nodes_, [](node& n) {
            auto const s = n.client.stats();
            return s.keys + s.holds + s.subscriptions == 0 && n.transport->in_flight() == 0 &&
                std::ranges::all_of(n.acquires, [](auto const& a) { return a.is_done(); }) &&
                std::ranges::all_of(n.others, [](auto const& o) { return o.is_done(); });
        });
    }

    void settle()
    {
        for (auto& n : nodes_)
            if (n.paused == 0)
                n.poll();
    }

    void pass()
    {
        clock::fake(clock::now() + 1ms);
        server_.tick();
        for (auto& n : nodes_)
            if (n.paused != 0)
                --n.paused;
        settle();
        look();
    }

    acquire_options some_options(node& n)
    {
        acquire_options o;
        if (random_.one_in(3))
            o.lease = milliseconds{20 + random_.below(400)};
        if (random_.one_in(2))
            o.as = n.owners[static_cast<std::size_t>(random_.below(2))];
        return o;
    }

    void act(node& n)
    {
        switch (random_.below(40)) {
        case 0:
        case 1: {
            if (n.client.stats().waiters > 6)
                break;
            auto& a = n.acquires.emplace_back();
            a.key = keys[static_cast<std::size_t>(random_.below(2))];
            lock const k{n.client, a.key};
            a.is_try = random_.one_in(2);
            if (!a.is_try)
                k.acquire(some_options(n), a.p.token());
            else if (random_.one_in(2))
                k.try_acquire(some_options(n), a.t.token());
            else
                k.try_acquire_for(milliseconds{random_.below(200)}, some_options(n), a.t.token());
            break;
        }
        case 2:
        case 3:
        case 4:
            for (auto& a : n.acquires)
                if (auto* const h = a.held(); h && *h && random_.one_in(2)) {
                    if (random_.one_in(2))
                        *h = hold{};
                    else
                        h->release(n.others.emplace_back().token());
                }
            break;
        case 5:
            for (auto& a : n.acquires)
                if (auto* const h = a.held(); h && *h && random_.one_in(2)) {
                    h->extend(
                        milliseconds{100 + random_.below(500)}, n.others.emplace_back().token()
                    );
                    break;
                }
            break;
        case 6:
            for (auto& a : n.acquires)
                if (!a.is_done() && random_.one_in(4))
                    a.cancel();
            break;
        case 7: {
            auto const link = static_cast<unsigned>(random_.below(2));
            if (random_.below(100) < trouble_) {
                n.transport->link_down(link);
                down_.insert({&n, link});
            }
            break;
        }
        case 8:
            if (!down_.empty() && random_.one_in(2)) {
                auto const [who, link] = *down_.begin();
                reconnect(*who, link);
            }
            break;
        case 9:
            if (random_.below(100) < trouble_)
                n.transport->push_down();
            else
                n.transport->push_up();
            break;
        case 10:
            if (random_.below(200) < trouble_)
                n.paused = random_.below(500);
            break;
        default: break;
        }
    }

    // The new connection kills the old one before anything goes over it.
    void reconnect(node& n, unsigned link)
    {
        down_.erase({&n, link});
        if (n.transport->is_up(link))
            return;
        server_.forget(n, link);
        n.transport->link_up(link);
    }

    void look()
    {
        for (auto& n : nodes_)
            for (auto& a : n.acquires) {
                BOOST_TEST_REQUIRE(a.calls() <= 1);
                auto* const h = a.held();
                if (!h)
                    continue;
                if (!a.seen) {
                    a.seen = true;
                    ++grants_;
                }
                auto const token = static_cast<std::int64_t>(h->fencing_token());
                if (h->valid_for(0ms))
                    BOOST_TEST_REQUIRE(
                        server_.stands(a.key, token),
                        a.key << ": valid, but the server has it no more; token " << token
                    );
                losses_ += a.was_held && !*h;
                a.was_held = static_cast<bool>(*h);
                if (n.paused == 0 && *h)
                    BOOST_TEST_REQUIRE(h->valid_for(0ms), a.key << ": not valid and not told");
            }
    }

    random_numbers& random_;
    slow_server server_;
    std::deque<node> nodes_;
    std::set<std::pair<node*, unsigned>> down_;
    int trouble_ = 0;
    int grants_ = 0;
    int losses_ = 0;
};

BOOST_AUTO_TEST_SUITE(service_random_walk)

void walk_often(int rounds, int trouble)
{
    asio::io_context none;
    virtual_time const time{none};
    random_numbers random;
    int grants = 0, losses = 0;
    for (int round = 0; round != rounds; ++round)
        BOOST_TEST_CONTEXT("seed " << random.seed() << " round " << round)
        {
            walk w{random, trouble};
            w.stroll(800);
            w.come_to_rest();
            grants += w.grants();
            losses += w.losses();
        }
    BOOST_TEST(grants > rounds * 10);
    BOOST_TEST_MESSAGE(grants << " grants, " << losses << " losses");
}

BOOST_AUTO_TEST_CASE(without_trouble) { walk_often(6, 0); }
BOOST_AUTO_TEST_CASE(with_some_trouble) { walk_often(12, 5); }
BOOST_AUTO_TEST_CASE(with_much_trouble) { walk_often(12, 25); }

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
