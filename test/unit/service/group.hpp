// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "unit/harness.hpp"
#include <colock/multi_lock.hpp>
#include <colock/red_lock.hpp>

#include <string>
#include <utility>

namespace colock::test {

/// A client, and a server that answers it.
struct served : harness {
    explicit served(config settings = short_leases()) : harness{std::move(settings)}
    {
        redis.attach(*server);
    }

    template <class Lock>
    pending<typename Lock::hold_type> take(Lock const& of, acquire_options options = {})
    {
        return of.acquire(options, settled());
    }
    template <class Lock>
    pending<if_acquired<typename Lock::hold_type>> take_once(
        Lock const& of, acquire_options options = {}
    )
    {
        return of.try_acquire(options, settled());
    }
    template <class Lock>
    pending<if_acquired<typename Lock::hold_type>> take_for(Lock const& of, milliseconds wait)
    {
        return of.try_acquire_for(wait, settled());
    }
    void force(std::string const& name)
    {
        auto p = mutex(name).force_release(settled());
        BOOST_TEST(p.succeeded());
    }
    std::string letter(std::string const& key = "k")
    {
        return letter_about(*redis.fields(key).begin(), key);
    }
    void be_silent() { server->serve = {}; }
    void serve_again() { redis.attach(*server); }
    void never_answer()
    {
        server->serve = [](call const&) { return std::nullopt; };
    }
    multi_lock both() const { return multi_lock{mutex("b"), mutex("a")}; }
    red_lock most() const { return red_lock{mutex("a"), mutex("b"), mutex("c")}; }
    bool is_any_locked()
    {
        return redis.is_locked("a") || redis.is_locked("b") || redis.is_locked("c");
    }

    script_server redis;
};

/// Another client, of another server.
struct elsewhere {
    explicit elsewhere(harness& beside, config settings = short_leases())
        : client{detail::client_access::make(test::make_core(
              beside.context.get_executor(),
              beside.with(std::move(settings)),
              [this](fake_transport& made) { server = &made; }
          ))}
    {
        redis.attach(*server);
        client.run(run.token());
        beside.time.settle();
    }

    lock mutex(std::string name) const { return {client, std::move(name)}; }

    script_server redis;
    fake_transport* server = nullptr;
    pending<> run;
    colock::client client;
};

inline config with_lease(milliseconds lease)
{
    auto c = short_leases();
    c.lease = lease;
    return c;
}

inline config at_host(std::string host)
{
    auto c = short_leases();
    c.addresses = {{.host = std::move(host)}};
    return c;
}

}  // namespace colock::test
