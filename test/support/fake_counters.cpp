// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "support/fake_counters.hpp"

#include <algorithm>
#include <utility>

namespace colock::test {

namespace {

std::int64_t number(std::string const& text) { return std::stoll(text); }

}  // namespace

void fake_counters::attach(fake_transport& to)
{
    to_.push_back(&to);
    to.serve = [this](call const& c) {
        return std::optional{answer{answer::kind::replied, run(c), {}, {}}};
    };
}

void fake_counters::publish(std::string const& channel)
{
    for (auto* each : to_)
        each->publish(channel);
}

reply fake_counters::run(call const& c)
{
    if (c.what == &scripts::count)
        return reply::of(counters.contains(c.key()) ? counters[c.key()] : 0);
    if (c.what == &scripts::semaphore_acquire)
        return run_acquire(c);
    if (c.what == &scripts::semaphore_undo)
        return run_undo(c);
    if (c.what->name.substr(0, 6) == "permit")
        return run_permit(c);
    return run_change(c);
}

reply fake_counters::run_acquire(call const& c)
{
    auto& last = records_[c.keys.at(1)];
    auto const wanted = number(c.arguments.at(0));
    if (last.number == number(c.arguments.at(1)))
        return reply::of(1);
    auto const at = counters.find(c.key());
    if (at == counters.end() || at->second < wanted || last.number > number(c.arguments.at(1)))
        return refused(at == counters.end() ? 0 : at->second);
    last.number = number(c.arguments.at(1));
    at->second -= wanted;
    return reply::of(1);
}

reply fake_counters::run_undo(call const& c)
{
    auto& last = records_[c.keys.at(1)];
    bool const taken = last.number == number(c.arguments.at(0));
    last.number = std::max(last.number, number(c.arguments.at(1)));
    if (taken) {
        counters[c.key()] += number(c.arguments.at(2));
        publish(c.arguments.at(4));
    }
    return reply::of(taken ? 1 : 0);
}

reply fake_counters::run_change(call const& c)
{
    auto& last = records_[c.keys.at(1)];
    auto const amount = number(c.arguments.at(0));
    if (last.number >= number(c.arguments.at(1)))
        return reply::of(last.result);
    last.number = number(c.arguments.at(1));
    bool const there = counters.contains(c.key());
    auto& value = counters[c.key()];
    if (c.what == &scripts::semaphore_release)
        last.result = value += amount;
    else if (c.what == &scripts::semaphore_drain)
        last.result = std::exchange(value, 0);
    else if (c.what == &scripts::latch_count_down) {
        last.result = value = std::max<std::int64_t>(value - amount, 0);
        if (value == 0)
            counters.erase(c.key());
    } else {
        last.result = there ? 0 : 1;
        if (!there)
            value = amount;
    }
    if (!c.arguments.at(3).empty())
        publish(c.arguments.at(3));
    return reply::of(last.result);
}

void fake_counters::end_leases(std::string const& name)
{
    counters[name] += static_cast<std::int64_t>(std::erase_if(leases[name], [](auto const& l) {
        return l.second <= clock::now();
    }));
}

reply fake_counters::run_permit_acquire(call const& c)
{
    auto& out = leases[c.key()];
    auto const& id = c.arguments.at(0);
    auto const ends = clock::now() + milliseconds{number(c.arguments.at(1))};
    if (!out.contains(id)) {
        end_leases(c.key());
        if (counters[c.key()] < 1) {
            auto first = never;
            for (auto const& [each, until] : out)
                first = std::min(first, until);
            auto const left = std::chrono::duration_cast<milliseconds>(first - clock::now());
            return refused(first == never ? -1 : left.count());
        }
        --counters[c.key()];
    }
    out[id] = ends;
    return reply::of(1);
}

reply fake_counters::run_permit(call const& c)
{
    if (c.what == &scripts::permit_acquire)
        return run_permit_acquire(c);
    if (c.what == &scripts::permit_extend) {
        auto const& key = c.key();  // {name}:timeout
        auto& out = leases[key.substr(1, key.rfind('}') - 1)];
        auto const at = out.find(c.arguments.at(0));
        if (at == out.end() || at->second <= clock::now())
            return not_there();
        at->second = clock::now() + milliseconds{number(c.arguments.at(1))};
        return done();
    }
    auto& out = leases[c.key()];
    if (c.what == &scripts::permit_release) {
        auto const at = out.find(c.arguments.at(0));
        if (at == out.end())
            return gone();
        bool const in_time = at->second > clock::now();
        out.erase(at);
        ++counters[c.key()];
        publish(c.arguments.at(1));
        return in_time ? released() : gone();
    }
    auto const ended =
        std::ranges::count_if(out, [](auto const& l) { return l.second <= clock::now(); });
    return reply::of(counters[c.key()] + ended);
}

}  // namespace colock::test
