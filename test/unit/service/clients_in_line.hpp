// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "unit/harness.hpp"
#include "unit/script_server.hpp"
#include "unit/service/several_clients.hpp"
#include <colock/read_write_lock.hpp>

#include <array>
#include <string>
#include <utility>
#include <vector>

namespace colock::test {

/// Clients that want the lock `k`, at one server.
struct clients_in_line {
    using ids = std::vector<std::string>;

    struct one : harness {
        explicit one(script_server& redis, config const& settings) : harness{settings}
        {
            redis.attach(*server);
        }

        std::string id() { return inside().uuid(); }
        bool listens_to(std::string const& what) const
        {
            return server->subscribed().contains(what);
        }
        bool listens() const { return listens_to(channel()); }
        /// Since when it stood in the list by its attempts: "" where it took no place.
        std::vector<std::string> places() const
        {
            std::vector<std::string> found;
            for (auto const& each : server->written())
                if (each.what == &scripts::acquire)
                    found.push_back(each.arguments.at(5));
            return found;
        }
        /// With which its last release was to put it into the wait list.
        std::string entry_of_last_release() const
        {
            std::string found;
            for (auto const& each : server->written())
                if (each.what == &scripts::release)
                    found = each.arguments.at(4);
            return found;
        }
        /// The letter that it is its turn for the lock `k`.
        std::string turn() const
        {
            std::string field;
            for (auto const& each : server->written())
                if (each.what == &scripts::acquire)
                    field = each.field();
            return "turn " + field.substr(field.find(':') + 1) + " 0 k";
        }
        /// Its letters arrive.
        bool is_heard() { return listens_to(mailbox()); }
        std::size_t tries() const { return server->count(scripts::acquire); }
    };

    explicit clients_in_line(config settings = calm()) : settings_{std::move(settings)} {}

    static config calm()
    {
        auto settings = short_leases();
        settings.max_tenure = 0ms;
        return settings;
    }

    void settle() { settle_all(all); }
    void pass(milliseconds time) { pass_for_all(all, time); }
    void publish(one& to, std::string const& letter)
    {
        to.server->publish(to.mailbox(), letter);
        settle();
    }
    /// The server runs the script that a client has sent, and answers.
    template <class Asked>
    void answer(Asked& what)
    {
        settle();
        what.reply(redis.run(what.seen()));
        settle();
    }
    pending_hold wait(one& who)
    {
        auto p = who.acquire();
        settle();
        return p;
    }
    hold take(one& who)
    {
        auto p = who.acquire();
        BOOST_TEST_REQUIRE(p.succeeded());
        return std::move(p.value());
    }
    /// A script takes a while.
    hold take_slowly(one& who)
    {
        auto& asked = who.server->expect(scripts::acquire);
        auto p = who.acquire();
        pass(6ms);
        asked.reply(redis.run(asked.seen()));
        settle();
        return std::move(p.value());
    }
    template <class Side>
    pending_hold enter(Side const& of)
    {
        pending_hold p;
        of.acquire(p.token());
        settle();
        return p;
    }
    pending_hold write(one& who) { return enter(read_write_lock{who.client, "k"}.write()); }
    pending_hold read(one& who) { return enter(read_write_lock{who.client, "k"}.read()); }
    void release(one& who, hold& h)
    {
        auto const p = who.release(h);
        settle();
        BOOST_TEST(p.succeeded());
    }
    /// The ids of the clients in the wait list.
    ids list()
    {
        ids found;
        for (auto const& each : redis.ask({"ZRANGE", turns, "0", "-1"}).items)
            found.push_back(each.text.substr(0, each.text.find(':')));
        return found;
    }
    /// The first of the list was told its turn, and the message is lost.
    void lose_turn()
    {
        auto const kept = redis.now() + 100'000;
        redis.ask({"ZADD", turns, std::to_string(-kept), first()});
    }
    std::string first() { return redis.ask({"ZRANGE", turns, "0", "0"}).items.at(0).text; }

    script_server redis;
    config settings_;
    one a{redis, settings_}, b{redis, settings_}, c{redis, settings_};
    std::array<one*, 3> all{&a, &b, &c};
    std::string const turns = decide::wait_list("k");
    std::string const read_write_channel = "redisson_rwlock:{k}";
    std::string const foreign = "5f2a1d7c-8b2e-4c11-9c55-0d3f5e2b7a10:1";
};

}  // namespace colock::test
