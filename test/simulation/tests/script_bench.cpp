// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "simulation/tests/script_bench.hpp"

#include <map>
#include <memory>
#include <ostream>

namespace colock::simulation {

namespace {

/// One of each in a program: a real server takes a while to start.
subject& at_place(script_place where)
{
    static std::map<std::optional<test::server_kind>, std::unique_ptr<subject>> all;
    auto& one = all[where.real];
    if (!one && where.real)
        one = std::make_unique<real>(*where.real);
    else if (!one)
        one = std::make_unique<simulated>();
    return *one;
}

/// A server's clock goes on between two tests.
std::int64_t next_begin = some_day / 1'000'000 * 1'000'000;

}  // namespace

std::ostream& operator<<(std::ostream& out, script_place where)
{
    return where.real ? out << *where.real : out << "in process";
}

std::vector<script_place> script_places()
{
    std::vector<script_place> all{{}};
    for (auto const kind : test::installed_servers())
        all.push_back({kind});
    return all;
}

script_bench::script_bench(script_place where)
    : at_{at_place(where)}
    , now_{next_begin}
    , begin{next_begin}
{
    set_clock(begin);
    at_.command({"FLUSHALL"});
}

script_bench::~script_bench()
{
    for (auto const& [to, channel] : std::set{channels_})
        unlisten(channel, to);
    next_begin = std::max(next_begin, now_) + 3'600'000'000;
}

void script_bench::set_clock(std::int64_t microseconds)
{
    now_ = microseconds;
    at_.set_clock(now_);
}

std::vector<reply> script_bench::run_many(
    scripts::script const& what, strings const& keys, strings const& arguments
)
{
    auto got = at_.call(what.text, keys, arguments);
    if (got.what != reply::kind::list)
        return {std::move(got)};
    return std::move(got.items);
}

reply script_bench::run(scripts::script const& what, strings const& keys, strings const& arguments)
{
    auto got = run_many(what, keys, arguments);
    BOOST_TEST_REQUIRE(got.size() == 1U);
    return std::move(got.front());
}

// A real server answers when all messages before have been read.
void script_bench::take_in()
{
    for (auto& message : at_.heard())
        heard_.push_back(std::move(message));
}

void script_bench::listen(std::string const& channel, audience to)
{
    take_in();
    channels_.emplace(to, channel);
    at_.listen(to, channel, true);
}

void script_bench::unlisten(std::string const& channel, audience to)
{
    take_in();
    channels_.erase({to, channel});
    at_.listen(to, channel, false);
}

std::string script_bench::heard()
{
    take_in();
    strings all;
    for (auto const& message : std::exchange(heard_, {})) {
        auto const channel = message.find(' ') + 1, payload = message.rfind(' ');
        all.push_back(
            message.substr(channel, payload - channel) + '=' + message.substr(payload + 1)
        );
    }
    return line(all);
}

}  // namespace colock::simulation
