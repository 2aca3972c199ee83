// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "simulation/world/run.hpp"
#include "simulation/world/world.hpp"

#include <algorithm>
#include <ostream>
#include <sstream>
#include <vector>

namespace colock::simulation {

verdict run(scenario const& plan, recipe const& how, std::size_t told, std::ostream* operations)
{
    world w{plan, how, operations};
    verdict v;
    try {
        w.run();
    } catch (violation const& broken) {
        w.past().operations().finish();  // nobody ends what has led to it
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

namespace {

/// Looks for what can be left out.
class shrinker {
public:
    shrinker(scenario const& plan, recipe from, unsigned runs, std::ostream& log)
        : plan_{plan}
        , best_{std::move(from)}
        , runs_left_{runs}
        , log_{log}
    {}

    recipe search()
    {
        if (!still_fails(best_))
            return best_;
        end_at_failure();
        bool smaller = true;
        while (smaller && runs_left_ != 0) {
            smaller = leave_out_any();
            // In a short world the users that are left may not meet.
            if (!smaller && lengthen())
                smaller = leave_out_any();
        }
        return best_;
    }

private:
    static std::vector<int> numbers(int count)
    {
        std::vector<int> all;
        for (int i = 0; i != count; ++i)
            all.push_back(i);
        return all;
    }

    std::vector<int> faults() const
    {
        std::vector<int> all;
        for (auto const& f : draw_faults(plan_, dice{best_.seed}.apart(2)))
            all.push_back(f.number);
        return all;
    }

    /// What is left out changes the order of what is left: another luck may bring it back.
    bool still_fails(recipe smaller)
    {
        for (int tries = 0; tries != 8; ++tries, ++smaller.luck)
            if (fails(smaller))
                return true;
        return false;
    }

    bool fails(recipe const& smaller)
    {
        if (runs_left_ == 0)
            return false;
        --runs_left_;
        auto const v = run(plan_, smaller, 0);
        if (v.broken_rule.empty() || (!rule_.empty() && v.rule != rule_))
            return false;
        rule_ = v.rule;
        best_ = smaller;
        failed_at_ = v.length;
        return true;
    }

    // Not sooner, for now: in a short world fewer users meet.
    void end_at_failure()
    {
        auto next = best_;
        next.length = failed_at_ + std::chrono::milliseconds{1};
        fails(next);
    }

    bool lengthen()
    {
        auto next = best_;
        next.length = {};
        return still_fails(next);
    }

    // Faults draw their moments one after the other, so a world that ends sooner is the same until
    // then.
    void shorten()
    {
        for (auto const eighths : {7, 4, 2, 1}) {
            auto next = best_;
            do {
                auto const length = best_.length != moment{} ? best_.length : plan_.length;
                next.length = length - length * eighths / 8;
            } while (next.length > std::chrono::milliseconds{1} && still_fails(next));
        }
    }

    bool leave_out_any()
    {
        bool smaller = leave_out(numbers(plan_.machines), &recipe::without_machines);
        smaller |= leave_out(numbers(plan_.machines * plan_.tasks), &recipe::without_tasks);
        smaller |= leave_out(faults(), &recipe::without_faults);
        shorten();
        return smaller;
    }

    /// Half of them at once, then a quarter, at last one by one.
    bool leave_out(std::vector<int> const& all, std::set<int> recipe::*from)
    {
        std::vector<int> there;
        std::ranges::copy_if(all, std::back_inserter(there), [&](int n) {
            return !(best_.*from).contains(n);
        });
        bool smaller = false;
        for (auto size = there.size(); size != 0; size /= 2)
            for (std::size_t at = 0; at + size <= there.size();) {
                auto next = best_;
                for (std::size_t i = at; i != at + size; ++i)
                    (next.*from).insert(there[i]);
                if (!still_fails(next)) {
                    at += size;
                    continue;
                }
                smaller = true;
                auto const first = there.begin() + static_cast<std::ptrdiff_t>(at);
                there.erase(first, first + static_cast<std::ptrdiff_t>(size));
                log_ << "smaller: " << best_.describe() << std::endl;
            }
        return smaller;
    }

    scenario plan_;
    recipe best_;
    unsigned runs_left_;
    std::ostream& log_;
    moment failed_at_{};
    std::string rule_;  ///< another one that breaks is another failure
};

}  // namespace

recipe shrink(scenario const& plan, recipe from, unsigned runs, std::ostream& log)
{
    return shrinker{plan, std::move(from), runs, log}.search();
}

}  // namespace colock::simulation
