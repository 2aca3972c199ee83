// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Several clients on one server that is slow, loses answers and connections, while processes stand
// still: whatever happens, a hold that is valid is one that the server has, and in the end nothing
// is left. A failure prints its seed; COLOCK_SEED repeats it.
#include "support/patience.hpp"
#include "unit/service/random_walk.hpp"

#include <array>
#include <list>

namespace colock::test {

using namespace walking;

namespace {

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
                if (*h)
                    BOOST_TEST_REQUIRE(h->valid_for(0ms), a.key << ": held and not valid");
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

BOOST_AUTO_TEST_CASE(without_trouble) { walk_often(often(6), 0); }
BOOST_AUTO_TEST_CASE(with_some_trouble) { walk_often(often(12), 5); }
BOOST_AUTO_TEST_CASE(with_much_trouble) { walk_often(often(12), 25); }

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
