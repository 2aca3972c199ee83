// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What lines become before a sink sees them.
#include "base/log.hpp"
#include "support/blocked_stderr.hpp"
#include "support/thread_sanitizer.hpp"
#include <colock/log.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <regex>
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <unistd.h>

namespace colock::test {

namespace {

std::string logged(std::string_view line)
{
    std::string got;
    write_log(
        {[&](log_level, std::string_view text) { got = text; }, log_level::debug},
        log_level::info,
        line
    );
    return got;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(log_lines_for_people)

BOOST_AUTO_TEST_CASE(text_stays)
{
    for (std::string_view const line :
         {"lock \"a b\\c\": held",
          "",
          "L\xC3\xBC"
          "beck \xE2\x80\x93 \xE6\x9D\xB1\xE4\xBA\xAC \xF0\x9F\x94\x92",
          "Latin-1: \xFC \xE4"})
        BOOST_TEST(logged(line) == line);
}

BOOST_AUTO_TEST_CASE(what_steers_a_terminal_is_escaped)
{
    BOOST_TEST(logged("a\x1b[2Jb\n\x7f") == "a\\x1b[2Jb\\x0a\\x7f");
    BOOST_TEST(
        logged("U+009B \xC2\x9B"
               "2J") == "U+009B \\xc2\\x9b2J"
    );
    BOOST_TEST(logged("\xC2\x80 \xC2\x9F") == "\\xc2\\x80 \\xc2\\x9f");
    BOOST_TEST(
        logged("a byte \x9B"
               "2J") == "a byte \\x9b2J"
    );
    BOOST_TEST(logged("cut off \xE2\x9B") == "cut off \xE2\\x9b");
    BOOST_TEST(logged("\xE4\xBA\xAC\x9B") == "\xE4\xBA\xAC\\x9b");
    BOOST_TEST(logged("overlong \xC0\x9B \xE0\x82\x9B") == "overlong \xC0\\x9b \xE0\\x82\\x9b");
}

// Otherwise two names could look alike.
BOOST_AUTO_TEST_CASE(what_does_not_show_is_escaped)
{
    BOOST_TEST(logged("soft \xC2\xAD") == "soft \\xc2\\xad");
    BOOST_TEST(logged("mark \xD8\x9C") == "mark \\xd8\\x9c");
    BOOST_TEST(logged("no break \xEF\xBB\xBF") == "no break \\xef\\xbb\\xbf");
    BOOST_TEST(logged("tag \xF3\xA0\x81\x81") == "tag \\xf3\\xa0\\x81\\x81");
    BOOST_TEST(
        logged("\xC2\xA1 \xE2\x80\xA7 \xEF\xBB\xBE") == "\xC2\xA1 \xE2\x80\xA7 \xEF\xBB\xBE"
    );
}

// As the command line does with keys.
BOOST_AUTO_TEST_CASE(what_turns_text_round_is_escaped)
{
    BOOST_TEST(
        logged("a\xE2\x80\xAE"
               "b") ==
        "a\\xe2\\x80\\xae"
        "b"
    );
    BOOST_TEST(
        logged("a\xE2\x80\xA8"
               "b") ==
        "a\\xe2\\x80\\xa8"
        "b"
    );
}

BOOST_AUTO_TEST_SUITE_END()

namespace {

// The default logger.

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

#ifndef COLOCK_THREAD_SANITIZER

// The thread that writes is not in the child.
BOOST_AUTO_TEST_CASE(a_forked_child_writes_lines_of_its_own)
{
    blocked_stderr full;
    auto const log = stderr_logger();
    log.sink(log_level::error, "of the parent");
    int ends[2];
    BOOST_TEST_REQUIRE(::pipe(ends) == 0);
    auto const child = ::fork();
    BOOST_TEST_REQUIRE(child >= 0);
    if (child == 0) {
        ::alarm(10);
        ::dup2(ends[1], STDERR_FILENO);
        log.sink(log_level::error, "of the child");
        char got[64]{};
        auto const length = ::read(ends[0], got, sizeof got - 1);
        ::_exit(length > 0 && std::string_view{got} == "colock error: of the child\n" ? 0 : 1);
    }
    int status = -1;
    BOOST_TEST(::waitpid(child, &status, 0) == child);
    BOOST_TEST(status == 0);
    ::close(ends[0]);
    ::close(ends[1]);
    BOOST_TEST(full.read_until_end("parent\n") == "colock error: of the parent\n");
}

#endif

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
