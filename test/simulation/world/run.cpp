// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "simulation/world/run.hpp"
#include "simulation/world/world.hpp"

#include <sstream>

namespace colock::simulation {

verdict run(scenario const& plan, recipe const& how, std::size_t told)
{
    world w{plan, how};
    verdict v;
    try {
        w.run();
    } catch (violation const& broken) {
        v.rule = broken.rule;
        v.broken_rule = broken.what();
        v.object = broken.object;
    } catch (std::runtime_error const& broken) {
        v.broken_rule = broken.what();
    }
    if (!v.broken_rule.empty()) {
        std::ostringstream text;
        w.past().print(text, v.object, told);
        v.story = text.str();
    }
    v.sum = w.past().sum();
    v.events = w.past().size();
    v.sections = w.sections();
    v.grants = w.truth().grants();
    v.excused = w.truth().excused();
    v.length = w.lived();
    return v;
}

}  // namespace colock::simulation
