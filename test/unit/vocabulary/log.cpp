// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// The default logger.
#include "support/blocked_stderr.hpp"
#include <colock/log.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <regex>
#include <string>

namespace colock::test {

namespace {

/// What became of the lines.
struct tally {
    long written = 0, dropped = 0;

    long sum() const { return written + dropped; }
};

tally tally_of(std::string const& text)
{
    static std::regex const notice{"colock warning: log: dropped ([0-9]+) lines?: "};
    tally found;
    found.written = static_cast<long>(std::ranges::count(text, '\n'));
    for (std::sregex_iterator at{text.begin(), text.end(), notice}, end; at != end; ++at) {
        found.dropped += std::stol((*at)[1]);
        --found.written;
    }
    return found;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(default_log)

BOOST_AUTO_TEST_CASE(a_pipe_that_nobody_reads_delays_nobody)
{
    constexpr long lines = 20'000;
    blocked_stderr full;
    auto const log = stderr_logger();
    for (long i = 0; i != lines; ++i)
        log.sink(log_level::warning, "line " + std::to_string(i) + std::string(80, '.'));
    auto const got = full.read_until([&](std::string const& so_far) {
        return so_far.ends_with('\n') && tally_of(so_far).sum() >= lines;
    });
    BOOST_TEST(got.starts_with("colock warning: line 0."));
    auto const found = tally_of(got);
    BOOST_TEST(found.sum() == lines);
    BOOST_TEST(found.written > 1'000);
    BOOST_TEST(found.dropped > 1'000);
    BOOST_TEST(got.size() < 1'000'000U);
}

BOOST_AUTO_TEST_CASE(lines_after_a_blockage_are_written_again)
{
    blocked_stderr full;
    auto const log = stderr_logger();
    for (auto const* const text : {"first", "second", "third"})
        log.sink(log_level::error, text);
    auto const got = full.read_until_end("third\n");
    BOOST_TEST(got == "colock error: first\ncolock error: second\ncolock error: third\n");
    log.sink(log_level::error, "fourth");
    BOOST_TEST(full.read_until_end("fourth\n") == "colock error: fourth\n");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
