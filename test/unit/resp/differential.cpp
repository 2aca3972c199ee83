// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Random and damaged messages, read by our parser and by that of Boost.Redis: where both take a
// message, it has the same value. Known differences:
//
//   attributes          a value of their own there, skipped here: not compared
//   streamed values     refused here; there some of them end the process: not compared
//   $-1 and *-1         RESP2's nulls are refused there
//   depth               up to 5 there
//   :, , and ( alone    refused there, an empty text here
//   line feeds          a line there may have some; nothing checks how a string ends
//   lengths             a number with anything behind it there, and there is no limit
//   _x, #true           only the type counts there, or the first letter
//   >                   a value like all others there, here only between replies
#if __has_include(<boost/redis/resp3/impl/parser.ipp>)

#    include "support/seed.hpp"
#    include "unit/resp/parsing.hpp"
#    include "unit/resp/reference.hpp"

#    include <boost/test/unit_test.hpp>

#    include <array>
#    include <string>
#    include <string_view>

namespace colock::test {

namespace {

using namespace std::string_view_literals;

/// Writes random messages.
class random_wire {
public:
    std::string some()
    {
        std::string bytes;
        for (int i = random.below(4); i >= 0; --i)
            bytes += message();
        for (int i = random.below(5) - 2; i > 0; --i)
            damage(bytes);
        return bytes;
    }
    random_numbers random;

private:
    std::string message() { return random.one_in(8) ? list('>', 0) : value(0); }

    std::string value(int depth)
    {
        static constexpr auto types = "+-:$$=!_#,(*~%"sv;
        auto const type = types[random.below(static_cast<int>(types.size()))];
        switch (type) {
        case ':': return number();
        case '_': return "_\r\n";
        case '#': return random.one_in(2) ? "#t\r\n" : "#f\r\n";
        case '$':
        case '!': return counted(type, text());
        case '=': return counted(type, random.one_in(4) ? text() : "txt:" + text());
        case '*':
        case '~':
        case '%': return depth == 6 ? "_\r\n" : list(type, depth);
        default: return type + line() + "\r\n";
        }
    }
    std::string number()
    {
        static constexpr std::array most{
            "9223372036854775807", "-9223372036854775808", "9223372036854775808", "00", "-0", "+1"};
        return ":" +
            (random.one_in(8) ? most[random.below(most.size())]
                              : std::to_string(random.below(2'000) - 1'000)) +
            "\r\n";
    }
    std::string list(char type, int depth)
    {
        int const size = random.below(4);
        auto all = type + std::to_string(size) + "\r\n";
        for (int i = size * (type == '%' ? 2 : 1); i != 0; --i)
            all += value(depth + 1);
        return all;
    }
    static std::string counted(char type, std::string const& text)
    {
        return type + std::to_string(text.size()) + "\r\n" + text + "\r\n";
    }
    std::string text()
    {
        std::string all(random.below(12), ' ');
        for (auto& each : all)
            each = static_cast<char>(
                random.one_in(4) ? "\r\n:$*"[random.below(5)] : random.below(256)
            );
        return all;
    }
    std::string line()
    {
        std::string all(random.below(12), ' ');
        for (auto& each : all)
            each = static_cast<char>(' ' + random.below(95));
        return all;
    }
    void damage(std::string& bytes)
    {
        static constexpr std::array words{
            "\r\n",
            "\n",
            "$-1\r\n",
            "*-1\r\n",
            "$0\r\n\r\n",
            ">1\r\n",
            "|1\r\n+a\r\n+b\r\n",
            "*1\r\n",
            "%1\r\n",
            "0",
            "-",
            "x",
            "$18446744073709551614\r\n",
            "*99999999999\r\n"};
        auto const at = random.below(static_cast<int>(bytes.size()) + 1);
        switch (random.below(4)) {
        case 0: bytes.erase(at, 1 + random.below(4)); break;
        case 1: bytes.insert(at, words[random.below(words.size())]); break;
        case 2: bytes.resize(at); break;
        default:
            if (at != static_cast<int>(bytes.size()))
                bytes[at] = static_cast<char>(random.below(256));
        }
    }
};

/// Whether we break the connection for what Boost.Redis does not look at.
bool is_known_refusal(std::string_view complaint)
{
    static constexpr std::array reasons{
        "a line does not end with CR LF"sv,
        "the length of a string is none"sv,
        "a string is too long"sv,
        "a string does not end with CR LF"sv,
        "the length of a list is none, or too great"sv,
        "the length of a list is too great"sv,
        "a null has a value"sv,
        "a boolean is neither true nor false"sv,
        "a push within a reply"sv};
    return std::ranges::find(reasons, complaint) != reasons.end();
}

/// Returns how many messages were compared.
int compare(std::string const& wire)
{
    feeder f;
    f.feed(wire);
    auto const& ours = f.seen();
    reference theirs{wire};
    int compared = 0;
    for (;; ++compared) {
        auto const next = theirs.next();
        bool const is_ours = compared != static_cast<int>(ours.messages.size());
        if (next == reference::outcome::not_comparable)
            return compared;
        if (next == reference::outcome::refused) {
            BOOST_TEST(((!is_ours && ours.is_broken) || theirs.is_stricter()), "taken: " << ours);
            return compared;
        }
        if (!is_ours && ours.is_broken) {
            BOOST_TEST(is_known_refusal(f.parser().complaint()), f.parser().complaint());
            return compared;
        }
        BOOST_TEST((next == reference::outcome::message) == is_ours);
        if (next == reference::outcome::more || !is_ours)
            return compared;
        BOOST_TEST(theirs.message() == ours.messages[compared]);
    }
}

parsed parse_at_random(std::string_view wire, random_numbers& random)
{
    feeder f;
    while (!wire.empty()) {
        auto const size = std::min<std::size_t>(1 + random.below(20), wire.size());
        f.feed(wire.substr(0, size));
        wire.remove_prefix(size);
    }
    return f.seen();
}

BOOST_AUTO_TEST_SUITE(resp_differential)

BOOST_AUTO_TEST_CASE(both_parsers_read_the_same)
{
    random_wire from;
    int compared = 0;
    int const rounds = 5'000;
    for (int round = 0; round != rounds; ++round) {
        auto const wire = from.some();
        BOOST_TEST_CONTEXT("seed " << from.random.seed() << ", round " << round << ": " << wire)
        {
            compared += compare(wire);
            BOOST_TEST(parse_at_random(wire, from.random) == parse(wire));
        }
    }
    BOOST_TEST(compared > rounds);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test

#else

#    include <boost/test/unit_test.hpp>
#    include <boost/version.hpp>

BOOST_AUTO_TEST_SUITE(resp_differential)

// Boost has a Redis client since 1.84: a newer one without it is one that this file does not find.
BOOST_AUTO_TEST_CASE(there_is_no_other_parser) { BOOST_TEST(BOOST_VERSION < 108'400); }

BOOST_AUTO_TEST_SUITE_END()

#endif
