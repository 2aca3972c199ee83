// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Another version of the library shares keys with this one. COLOCK_OTHER_WORKER is its worker, as
// `tools/chaos --against COMMIT` builds it.
#include "chaos/trials.hpp"

#include <cstdlib>

namespace colock::test {

namespace {

char const* other_worker() { return std::getenv("COLOCK_OTHER_WORKER"); }

auto only_with_another_version()
{
    return boost::unit_test::precondition([](auto) {
        return boost::test_tools::assertion_result{other_worker() != nullptr};
    });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(versions)

BOOST_AUTO_TEST_CASE(share_keys, *only_with_another_version())
{
    until_conclusive([&] {
        series all{"beside another version", {.longest_visit = 0, .longest_break = 2}};
        for (int i = 0; i != all.at().plan().processes; ++i)
            all.at().add_process(other_worker());
        BOOST_TEST(all.at().until_all_enter(20s) >= 0);
        int const sections = from_environment("COLOCK_CHAOS_SECTIONS", 10'000);
        stopwatch const watch;
        while (all.at().board().entries() < sections / 10 && watch.ms() < 600'000)
            all.at().work_for(20);
        for (int i = 0; i != chaos_trials(); ++i)
            for (auto const* each : {"a process is killed", "connections reset", "SCRIPT FLUSH"})
                all.undergo({fault_named(each)});
        all.finish();
        all.check_exclusion();
        return all.is_conclusive();
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
