// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Which lines of a fault that goes on the log gets.
#include "base/paced_log.hpp"
#include "support/virtual_time.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

namespace colock::test {

namespace {

using namespace std::chrono_literals;

struct paced {
    /// Lets time pass in steps; each of them begins with `act`.
    template <class Act>
    void pass(milliseconds time, milliseconds step, Act const& act)
    {
        for (; time > 0ms; time -= step) {
            act();
            clock_.jump(step);
            if (clock::now() >= wake_at)
                log.catch_up();
        }
    }
    void pass(milliseconds time)
    {
        pass(time, 100ms, [] {});
    }
    void down(std::string line)
    {
        warn({.about = "server lost", .server = "server"}, std::move(line));
    }
    void up(std::string line)
    {
        warn({.about = "server up", .server = "server", .is_up = true}, std::move(line));
    }
    void expect(std::vector<std::string> const& all)
    {
        BOOST_TEST(lines == all, boost::test_tools::per_element());
    }
    void warn(paced_log::kind const& of, std::string line)
    {
        log.write(log_level::warning, of, std::move(line));
    }

    boost::asio::io_context context;
    virtual_time clock_{context};
    std::vector<std::string> lines;
    logger sink{
        [this](log_level, std::string_view line) { lines.emplace_back(line); }, log_level::warning};
    time_point wake_at = never;
    paced_log log{sink, [this](time_point at) { wake_at = at; }};
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(a_paced_log, paced)

BOOST_AUTO_TEST_CASE(a_fault_that_lasts_an_hour_has_few_lines)
{
    pass(1h, 500ms, [this] { warn({"down", "refused"}, "no connection"); });
    BOOST_TEST(lines.size() == 13U);
    BOOST_TEST(lines[0] == "no connection");
    BOOST_TEST(lines[1] == "no connection");
    BOOST_TEST(lines[2] == "no connection (and 3 more in 2.0 s)");
    BOOST_TEST(lines[7] == "no connection (and 127 more in 64 s)");
    BOOST_TEST(lines[12] == "no connection (and 1799 more in 15 min)");
}

BOOST_AUTO_TEST_CASE(a_burst_is_summed_up)
{
    for (int i = 0; i != 500; ++i)
        warn({"refused"}, "release " + std::to_string(i));
    BOOST_TEST(lines.size() == 1U);
    pass(1h);
    BOOST_TEST(lines.size() == 2U);
    BOOST_TEST(lines.back() == "release 499 (and 498 more in 1.0 s)");
    BOOST_TEST((wake_at == never));
}

BOOST_AUTO_TEST_CASE(a_line_that_comes_alone_is_written_as_it_is)
{
    warn({"refused"}, "first");
    warn({"refused"}, "second");
    pass(1s);
    BOOST_TEST(
        lines == (std::vector<std::string>{"first", "second"}), boost::test_tools::per_element()
    );
}

BOOST_AUTO_TEST_CASE(a_new_cause_is_told_at_once_and_a_few_of_them_are)
{
    for (int round = 0; round != 3; ++round)
        for (int i = 0; i != 20; ++i) {
            auto const words = std::to_string(i);
            warn({"down", words}, words);
        }
    BOOST_TEST(lines.size() == 8U);
    BOOST_TEST(lines.back() == "7");
}

BOOST_AUTO_TEST_CASE(kinds_do_not_wait_for_each_other)
{
    warn({"one"}, "1");
    warn({"two"}, "2");
    warn({"one"}, "1 again");
    BOOST_TEST(lines.size() == 2U);
}

BOOST_AUTO_TEST_CASE(a_kind_begins_anew_after_a_quiet_time)
{
    pass(5min, 1s, [this] { warn({"down"}, "down"); });
    auto const before = lines.size();
    log.finish();
    pass(15min);
    for (int i = 0; i != 2; ++i)
        warn({"down"}, "down again");
    BOOST_TEST(lines.size() == before + 2);  // what was left out, and the first line
    pass(1s);
    BOOST_TEST(lines.size() == before + 3);
}

BOOST_AUTO_TEST_CASE(a_late_line_says_how_old_it_is)
{
    pass(50min, 500ms, [this] { warn({"down"}, "down"); });
    log.finish();
    lines.clear();
    warn({"down"}, "down again");
    pass(9min);
    expect({});
    pass(6min);
    BOOST_TEST_REQUIRE(lines.size() == 1U);
    BOOST_TEST(lines[0].starts_with("down again ("));
    BOOST_TEST(lines[0].ends_with(" min ago)"));
}

BOOST_AUTO_TEST_CASE(a_new_cause_in_a_pause_begins_the_count_anew)
{
    for (int i = 0; i != 4; ++i)
        warn({"down", "refused"}, "refused");
    pass(600ms);
    warn({"down", "reset"}, "reset");
    for (int i = 0; i != 2; ++i)
        warn({"down", "refused"}, "refused");
    pass(400ms);
    expect({"refused", "refused (and 2 more in 0.6 s)", "reset", "refused (and 1 more in 0.4 s)"});
}

BOOST_AUTO_TEST_CASE(without_being_woken_it_sums_up_in_the_next_line)
{
    for (int i = 0; i != 3; ++i)
        warn({"config"}, "config");
    clock_.jump(5s);
    warn({"config"}, "config");
    expect({"config", "config (and 2 more in 5.0 s)"});
}

// ---- A server that is lost and up again --------------------------------------------------------

BOOST_AUTO_TEST_CASE(what_was_left_out_of_a_server_comes_before_it_is_up)
{
    for (auto const* const link : {"link 0", "link 1", "link 2"})
        down(std::string{link} + " lost");
    up("link 0 up");
    expect({"link 0 lost", "link 2 lost (and 1 more in 0.0 s)", "link 0 up"});
}

BOOST_AUTO_TEST_CASE(after_a_loss_in_the_log_the_server_is_up_at_once)
{
    pass(10min, 2s, [this] {
        down("lost");
        up("up");
    });
    log.finish();
    lines.clear();
    up("up again");
    expect({});  // the log has that it is up
    warn({.about = "server lost", .cause = "new", .server = "server"}, "lost: new");
    up("up");
    expect({"up again", "lost: new", "up"});
}

BOOST_AUTO_TEST_CASE(the_log_of_a_server_that_comes_and_goes_is_short_and_in_order)
{
    bool is_up = true;
    pass(1h, 500ms, [&] {
        is_up = !is_up;
        is_up ? up("up") : down("lost");
    });
    log.finish();
    BOOST_TEST(lines.size() < 60U);
    BOOST_TEST(lines.back().starts_with("up"));
}

// The owner of each lock looks for its line.
BOOST_AUTO_TEST_CASE(losses_now_and_then_have_a_line_each)
{
    paced_log::kind const lost{"lost", {}, paced_log::of_locks};
    pass(1h, 10s, [&] { warn(lost, "lost"); });
    BOOST_TEST(lines.size() == 360U);
    pass(10s);
    for (int i = 0; i != 200; ++i)
        warn(lost, std::to_string(i));
    BOOST_TEST(lines.size() == 370U);
    pass(1s);
    BOOST_TEST(lines.size() == 371U);
    BOOST_TEST(lines.back() == "199 (and 189 more in 1.0 s)");
}

BOOST_AUTO_TEST_CASE(the_end_writes_what_was_left_out)
{
    for (int i = 0; i != 3; ++i)
        warn({"refused"}, std::to_string(i));
    BOOST_TEST((wake_at == clock::now() + 1s));
    log.finish();
    BOOST_TEST((wake_at == never));
    BOOST_TEST(lines.back() == "2 (and 1 more in 0.0 s)");
}

BOOST_AUTO_TEST_CASE(lines_below_the_level_are_nothing)
{
    for (int i = 0; i != 3; ++i)
        log.write(log_level::info, {"up"}, "up");
    BOOST_TEST(lines.empty());
    BOOST_TEST((wake_at == never));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
