// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "soak/crowd.hpp"
#include "soak/faults.hpp"

namespace colock::soak {

faults::faults(plan const& what, test::redis_server& server, networks between)
    : dice_{what.seed + 1}
    , lease_{what.lease}
    , server_{server}
    , networks_{between}
{}

asio::awaitable<void> faults::rage()
{
    ending_ = false;
    raging_ = true;
    while (!ending_) {
        co_await do_one();
        co_await rest(100ms + dice_.up_to(dice_.one_in(4) ? 2s : 400ms));
    }
    calm_down();
    raging_ = false;
}

asio::awaitable<void> faults::end()
{
    ending_ = true;
    while (raging_)
        co_await rest(10ms);
}

asio::awaitable<void> faults::do_one()
{
    switch (dice_.below(9)) {
    case 0:
        note("cut");
        network().cut(some_link());
        break;
    case 1:
        note("cut reply");
        network().cut_reply("EVALSHA", 1 + dice_.below(40));
        break;
    case 2:
        note("cut request");
        network().cut_request("EVALSHA");
        break;
    case 3:
        note("SCRIPT FLUSH");
        server_.ask("SCRIPT", "FLUSH");
        break;
    case 4:
        note("CLIENT KILL");
        kill_clients();
        break;
    case 5: co_await black_hole(); break;
    case 6: co_await refuse(); break;
    case 7: co_await slow_down(); break;
    default: co_await pause_server(); break;
    }
}

asio::awaitable<void> faults::black_hole()
{
    note("black hole");
    auto& here = network();
    if (dice_.one_in(3))
        here.hold_back_all(some_way());
    else
        here.hold_back(some_way(), some_link());
    co_await rest(dice_.up_to(dice_.one_in(8) ? 2 * lease_ : milliseconds{1'500}));
    if (dice_.one_in(2))
        here.cut();
    here.let_through();
}

asio::awaitable<void> faults::refuse()
{
    note("refused");
    auto& here = network();
    here.serve(false);
    here.cut();
    co_await rest(dice_.up_to(1s));
    here.serve(true);
}

asio::awaitable<void> faults::slow_down()
{
    note("delay");
    auto& here = network();
    here.delay(1ms + dice_.up_to(30ms));
    co_await rest(dice_.up_to(2s));
    here.delay(0ms);
}

/// At times for longer than all leases.
asio::awaitable<void> faults::pause_server()
{
    note("server paused");
    server_.pause();
    co_await rest(dice_.up_to(dice_.one_in(10) ? 2 * lease_ : milliseconds{800}));
    server_.resume();
}

void faults::kill_clients()
{
    server_.ask("CLIENT", "KILL", "TYPE", dice_.one_in(2) ? "normal" : "pubsub");
}

void faults::note(char const* what)
{
    ++count_;
    ++by_kind_[what];
}

void faults::calm_down()
{
    for (auto* each : networks_) {
        each->cut_request({});
        each->cut_reply({}, 0);
        each->delay(0ms);
        each->serve(true);
        each->let_through();
    }
}

}  // namespace colock::soak
