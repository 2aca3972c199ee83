// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A reply that is lost, comes twice or in the wrong place: no lock is granted that another client
// has. COLOCK_SLIPS says how often each is tried.
#include "integration/suites.hpp"
#include "support/patience.hpp"
#include "support/seed.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace colock::test {

namespace {

constexpr int held_by_others = 12;
constexpr int busy_tasks = 64;

std::string held_name(int i) { return "held:" + std::to_string(i); }

/// Another client has these locks, on a connection of its own.
asio::awaitable<std::vector<hold>> take_locks(running_client& other)
{
    std::vector<hold> all;
    for (int i = 0; i != held_by_others; ++i)
        all.push_back(co_await lock{other.client, held_name(i)}.acquire());
    co_return all;
}

/// Tasks that take locks of their own, and try those that the other client has.
class load {
public:
    load(lab& at, running_client& by) : by_{by}, all_{at.context()}
    {
        for (int i = 0; i != busy_tasks; ++i)
            all_.start([this, i]() -> asio::awaitable<void> {
                auto const own = "free:" + std::to_string(i);
                for (int n = i; !is_over_; ++n) {
                    auto [failed, held] = co_await lock{by_.client, own}.acquire(tuple);
                    auto [ec, stolen] =
                        co_await lock{by_.client, held_name(n % held_by_others)}.try_acquire(tuple);
                    if (!ec && stolen) {
                        ++granted;
                        co_await stolen->release(tuple);
                    }
                    if (!failed)
                        co_await held.release(tuple);
                }
            });
    }
    asio::awaitable<void> end()
    {
        is_over_ = true;
        co_await all_.join(10s);
    }

    int granted = 0;

private:
    running_client& by_;
    tasks all_;
    bool is_over_ = false;
};

BOOST_AUTO_TEST_SUITE(slips)

BOOST_DATA_TEST_CASE(of_a_proxy_grant_nothing, each_server(), kind)
{
    redis_server server{kind};
    proxy network{server.port()};
    lab at{server};
    auto settings = at.settings();
    settings.lease = 5s;
    auto& other = at.connect(settings);
    settings.addresses = {address{.host = "127.0.0.1", .port = network.port()}};
    settings.links = 1;
    auto& c = at.connect(settings);
    auto const times = from_environment("COLOCK_SLIPS", 4);
    at.run(
        [&]() -> asio::awaitable<void> {
            auto const theirs = co_await take_locks(other);
            load busy{at, c};
            for (auto const what : {slip::lost, slip::doubled, slip::swapped})
                for (int i = 0; i != times; ++i) {
                    auto const before = c.client.stats().reconnects;
                    network.slip_reply(what);
                    BOOST_TEST(co_await eventually(
                        [&] { return c.client.stats().reconnects > before; }, within(2s)
                    ));
                    BOOST_TEST(network.has_slipped());
                    co_await time_passes(20ms);
                    BOOST_TEST(c.client.stats().reconnects == before + 1);
                }
            BOOST_TEST(busy.granted == 0);
            co_await busy.end();
            for (auto const& each : theirs)
                BOOST_TEST(bool{each});
            BOOST_TEST(c.log->count("a reply is missing, came twice") != 0U, c.log->all());
        },
        60s + times * 3s  // one second each
    );
}

// Many servers do not answer an AUTH that they refuse if an earlier reply is still in their buffer.
BOOST_DATA_TEST_CASE(of_a_refused_login_grant_nothing, each_server(), kind)
{
    redis_server server{kind, {"requirepass right"}};
    lab at{server};
    auto settings = at.settings();
    settings.lease = 5s;
    settings.password = "right";
    auto& other = at.connect(settings);
    running_client* client = nullptr;
    auto const times = from_environment("COLOCK_SLIPS", 4);
    int wrong = 0, right = 0;
    settings.links = 1;
    settings.password.clear();
    settings.credentials = [&](credentials_request const&, credentials_handler const& done) {
        // While the client is connected, each second one is wrong, until there were enough of
        // these.
        bool const is_up = client && client->client.stats().links_up != 0;
        bool const is_wrong = is_up && wrong <= std::min(right, times);
        ++(is_wrong ? wrong : right);
        done({}, {"default", is_wrong ? "wrong" : "right", 400ms});
    };
    auto& c = at.connect(settings);
    client = &c;
    at.run(
        [&]() -> asio::awaitable<void> {
            auto const theirs = co_await take_locks(other);
            load busy{at, c};
            BOOST_TEST(co_await eventually([&] { return wrong > times; }, 5s + times * 2s));
            BOOST_TEST(c.log->count("refuses AUTH with the new credentials") != 0U, c.log->all());
            BOOST_TEST(busy.granted == 0);
            co_await busy.end();
            for (auto const& each : theirs)
                BOOST_TEST(bool{each});
            BOOST_TEST(c.log->count("a reply is missing, came twice") == 0U, c.log->all());
        },
        20s + times * 2s
    );
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
