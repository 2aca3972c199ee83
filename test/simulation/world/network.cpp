// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "simulation/world/network.hpp"

namespace colock::simulation {

using namespace std::chrono_literals;

moment network::delay()
{
    auto const usual = dice_.between(now.least, now.most);
    return happens(now.slow) ? dice_.between(usual, now.slowest) : usual;
}

moment network::notice()
{
    return dice_.percent(60) ? dice_.between(0us, 2ms) : dice_.between(2ms, 1s);
}

void network::part(int machine, int node, moment until)
{
    parted_[{machine, node}] = until;
    cut([&](line const& l) { return l.to_machine() == machine && l.to_node() == node; });
}

bool network::is_parted(int machine, int node) const
{
    auto const at = parted_.find({machine, node});
    return at != parted_.end() && time_.now() < at->second;
}

}  // namespace colock::simulation
