// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Beside a Redisson whose NameMapper puts a prefix before each name: ours have the name that it
// makes. docs/redisson.md says for which kinds that is right with which releases.
#include "integration/suites.hpp"
#include "interop/peer.hpp"
#include <colock/colock.hpp>

#include <string>

namespace colock::test {

namespace {

struct mapped {
    static constexpr char const* prefix = "mapped:";

    explicit mapped(std::string java_kind)
        : kind{std::move(java_kind)}
        , name{unique_name(kind)}
        , java{at.server(), "redis://", prefix}
        , c{at.connect(brief(at.settings()))}
    {}

    std::string ours() const { return prefix + name; }

    /// Each side keeps the other out, and lets it in after its release.
    template <class Lock>
    void exclude_each_other(Lock const& mine)
    {
        at.run([&]() -> asio::awaitable<void> {
            auto held = co_await mine.try_acquire();
            BOOST_REQUIRE(held);
            BOOST_TEST(co_await java.ask("t1", "tryLock", kind, name, 0ms, 10'000ms) == "false");
            auto const entering = java.begin("t1", "lock", kind, name, milliseconds{10'000});
            co_await held->release();
            auto const entered = co_await entering.wait();
            BOOST_TEST(!entered.failed, entered.text);
            held = co_await mine.try_acquire();
            BOOST_TEST(!held);
            co_await java.ask("t1", "unlock", kind, name);
            held = co_await mine.try_acquire();
            BOOST_TEST(held.has_value());
        });
    }

    java_lab at;
    std::string kind, name;
    java_peer java;
    running_client& c;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(name_mapper)

BOOST_AUTO_TEST_CASE(plain_lock)
{
    mapped s{"lock"};
    s.exclude_each_other(lock{s.c.client, s.ours()});
}

BOOST_AUTO_TEST_CASE(fenced)
{
    mapped s{"fenced"};
    s.exclude_each_other(fenced_lock{s.c.client, s.ours()});
}

// Redisson 3.20 maps the name of a read-write lock twice, so ours cannot be the same lock.
BOOST_AUTO_TEST_CASE(writers)
{
    mapped s{"write"};
    if (!java_peer::is_oldest())
        return s.exclude_each_other(read_write_lock{s.c.client, s.ours()}.write());
    s.at.run([&]() -> asio::awaitable<void> {
        co_await s.java.ask("t1", "lock", s.kind, s.name, milliseconds{10'000});
        BOOST_TEST(s.at.server().ask("EXISTS", mapped::prefix + s.ours()).number == 1);
        BOOST_TEST(s.at.server().ask("EXISTS", s.ours()).number == 0);
        co_await s.java.ask("t1", "unlock", s.kind, s.name);
    });
}

// Redisson 3.20 does not map the queue of a fair lock, so ours would stand in another one.
BOOST_AUTO_TEST_CASE(fair)
{
    mapped s{"fair"};
    if (!java_peer::is_oldest())
        return s.exclude_each_other(fair_lock{s.c.client, s.ours()});
    s.at.run([&]() -> asio::awaitable<void> {
        co_await s.java.ask("t1", "lock", s.kind, s.name, milliseconds{10'000});
        auto const waiting = s.java.begin("t2", "lock", s.kind, s.name, milliseconds{10'000});
        bool const unmapped = co_await eventually([&] {
            return s.at.server().ask("EXISTS", "redisson_lock_queue:{" + s.name + "}").number == 1;
        });
        BOOST_TEST(unmapped);
        co_await s.java.ask("t1", "unlock", s.kind, s.name);
        co_await waiting.wait();
        co_await s.java.ask("t2", "unlock", s.kind, s.name);
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
