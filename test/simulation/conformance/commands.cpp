// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// The commands of the server in process beside those of real ones, by themselves and called by a
// script, with arguments that scripts of colock never give: replies, errors and keys are the same.
#include "simulation/conformance/subject.hpp"
#include "support/seed.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cctype>
#include <sstream>

namespace colock::simulation {

namespace {

using test::random_numbers;

/// Commands with the roles of their words: `k` a key, `m` a member, field or text, `i` an integer,
/// `n` one that is not the least, where servers differ, `s` a score, `b` an end of a range of
/// scores, `t` a time in ms.
constexpr std::string_view shapes[] = {
    "del k",
    "del k k k",
    "exists k k",
    "type k",
    "pttl k",
    "pexpire k t",
    "pexpireat k t",
    "pexpiretime k",
    "persist k",
    "time",
    "publish m m",
    "get k",
    "set k m",
    "set k i",
    "set k i px t",
    "set k m PX i",
    "incr k",
    "decr k",
    "incrby k i",
    "decrby k i",
    "hset k m m",
    "hset k m i m m",
    "hset k m m m",
    "hget k m",
    "hexists k m",
    "hlen k",
    "hdel k m",
    "hdel k m m m",
    "hgetall k",
    "hscan k 0",
    "hscan k 0 count i",
    "rpush k m",
    "rpush k m m m m",
    "lpop k",
    "lindex k i",
    "llen k",
    "lrange k i i",
    "lrem k n m",
    "lpos k m",
    "lpos k m rank n",
    "zadd k s m",
    "zadd k s m s m s m",
    "zadd k xx s m",
    "zadd k nx s m",
    "zadd k nx s m s m",
    "zadd k nx incr s m",
    "zadd k xx nx s m",
    "zadd k gt nx s m",
    "zadd k gt s m s m",
    "zadd k xx gt s m",
    "zadd k incr s m",
    "zadd k xx incr s m",
    "zadd k gt incr s m",
    "zadd k incr s m s m",
    "zadd k xx gt",
    "zincrby k s m",
    "zrem k m",
    "zrem k m m m",
    "zscore k m",
    "zrank k m",
    "zrange k i i",
    "zrange k i i withscores",
    "zcount k b b",
    "zrangebyscore k b b",
    "zrangebyscore k b b limit i i",
    "zrangebyscore k b b WITHSCORES limit i i",
    "nosuchcommand m m",
};

// Where Redis 7.0 and later ones write numbers differently, `are_alike` knows it.
constexpr std::string_view members[] = {"a", "b", "c", "", "A", "aa", "\xff", "3", "0"};
constexpr std::string_view integers[] = {
    "0",
    "1",
    "-1",
    "2",
    "-2",
    "3",
    "5",
    "-5",
    "100",
    "-100",
    "9223372036854775807",
    "9223372036854775808",
    "",
    "x",
    "1.5",
    "01",
    "+1",
    "-0",
    " 1",
    "1 ",
    "-9223372036854775808"};
// Redis 8 refuses the last two as an end of a range: seen with 8.0.2.
constexpr std::string_view scores[] = {
    "0",   "1",    "2",    "2",   "-1", "0.5",    "1.25",   "1e3",  "1795300000123",
    "inf", "-inf", "+inf", "nan", "x",  "-1e400", "1e-400", "1e17", "922337203685477",
    "",    " 1",   "0x10"};
constexpr std::string_view times[] = {
    "1",
    "10",
    "5000",
    "0",
    "-1",
    "1795300000000",
    "1795300005000",
    "9223372036854775807",
    "-9223372036854775808",
    "x",
    "1.5"};

class command_maker {
public:
    explicit command_maker(random_numbers& dice) : dice_{dice} {}

    strings make()
    {
        std::istringstream from{std::string{shapes[dice_.below(std::size(shapes))]}};
        strings made;
        for (std::string word; from >> word;)
            made.push_back(made.empty() || word.size() > 1 ? word : fill(word[0]));
        if (dice_.one_in(20))
            made.pop_back();
        if (dice_.one_in(40) && made.size() > 1 && takes_no_options(made[0]))
            made.push_back("x");
        if (dice_.one_in(10) && !made.empty())
            std::ranges::transform(made[0], made[0].begin(), [](unsigned char c) {
                return static_cast<char>(std::toupper(c));
            });
        return made;
    }

private:
    // Of the others the server in process knows a part, and says so.
    static bool takes_no_options(std::string const& name)
    {
        constexpr std::string_view some[] = {
            "pttl",
            "get",
            "incr",
            "incrby",
            "hget",
            "hlen",
            "lindex",
            "lrange",
            "zscore",
            "zcount"};
        return std::ranges::find(some, name) != std::end(some);
    }

    std::string fill(char role)
    {
        std::span<std::string_view const> const all{integers}, all_scores{scores};
        switch (role) {
        case 'k': return std::string(1, static_cast<char>('p' + dice_.below(5)));
        case 'm': return one_of(members);
        case 'i': return one_of(dice_.one_in(3) ? all : all.first(10));
        case 'n': return one_of(dice_.one_in(3) ? all.first(all.size() - 1) : all.first(10));
        case 's': return one_of(dice_.one_in(3) ? all_scores : all_scores.first(9));
        case 'b':
            return (dice_.one_in(4) ? "(" : "") + one_of(all_scores.first(all_scores.size() - 2));
        case 't': return one_of(times);
        default: return std::string(1, role);
        }
    }

    std::string one_of(std::span<std::string_view const> some)
    {
        return std::string{
            some[static_cast<std::size_t>(dice_.below(static_cast<int>(some.size())))]};
    }

    random_numbers& dice_;
};

constexpr std::string_view in_a_script = "return redis.call(unpack(ARGV))";
constexpr std::string_view in_a_script_with_care = "return {redis.pcall(unpack(ARGV))}";

}  // namespace

BOOST_AUTO_TEST_SUITE(commands_on_servers)

BOOST_DATA_TEST_CASE(random_commands, each_server(), kind)
{
    random_numbers dice;
    command_maker maker{dice};
    simulated ours;
    real theirs{kind};
    comparison both{ours, theirs};
    auto now = some_day;
    auto const rounds = test::from_environment("COLOCK_CONFORMANCE_ROUNDS", 20);
    for (int i = 0; i != 100 * rounds; ++i) {
        BOOST_TEST_CONTEXT("seed " << dice.seed() << ", step " << i)
        {
            now += dice.one_in(4) ? 1'000 * dice.below(20) : 0;
            both.set_clock(now);
            if (i % 100 == 0)
                both.ask({"FLUSHALL"});
            auto const words = maker.make();
            if (words.empty())
                continue;
            if (dice.one_in(2))
                both.ask(words);
            else
                both.run(dice.one_in(2) ? in_a_script : in_a_script_with_care, {}, words);
        }
    }
}

// What scripts may do with Lua and with replies; each gives what Redis gives.
BOOST_DATA_TEST_CASE(lua, each_server(), kind)
{
    simulated ours;
    real theirs{kind};
    comparison both{ours, theirs};
    both.set_clock(some_day);
    for (auto const* const text :
         {"return 1",
          "return",
          "return nil",
          "return true",
          "return false",
          "return 3.99",
          "return -3.99",
          "return 1e300",
          "return {1, 'a', false, true, 2.5, {'b', {}}, nil, 3}",
          "return {1, nil, 2}",
          "return {ok = 'fine', err = 'worse'}",
          "return {ok = 'fine'}",
          "return {ok = 1}",
          "return {err = 'plain words'}",
          "return {err = 'two\\nlines\\r\\n'}",
          "return {'x', {err = 'A b'}, {ok = 'B'}}",
          "return function() end",
          "return redis.error_reply('ONE')",
          "return redis.error_reply('TWO words')",
          "return redis.error_reply('-TWO words')",
          "return redis.error_reply('-ONE')",
          "return redis.error_reply(1)",
          "return redis.error_reply()",
          "return redis.status_reply('FINE')",
          "return redis.status_reply({})",
          "redis.call('set', 'h', 1) return redis.call('hget', 'h', 'f')",
          "return redis.pcall('hget', 'h', 'f')",
          "return redis.pcall('hget', 'h', 'f').err",
          "return {pcall(redis.call, 'hget', 'h', 'f')}",
          "local ok, e = pcall(redis.call, 'hget', 'h', 'f') return {ok, type(e), e.err}",
          "return type(redis.call('get', 'none'))",
          "return type(redis.call('set', 'k', 'v').ok)",
          "return redis.call('set', 'k', 'v')",
          "return redis.call('get', 'k')",
          "return redis.call()",
          "return redis.pcall()",
          "return redis.call({})",
          "return redis.call('get', true)",
          "return redis.call('get', nil)",
          "return redis.call('get')",
          "return redis.call('get', 'a', 'b')",
          "return redis.call('none', 'a')",
          "redis.call('set', 'n', 1795300000000000) return redis.call('get', 'n')",
          "redis.call('set', 'n', -12) return redis.call('get', 'n')",
          "redis.call('set', 'n', 0.5) return redis.call('get', 'n')",
          "return redis.call('incrby', 'big', '9223372036854775807')",
          "error('x')",
          "error('x', 0)",
          "error({err = 'My words'})",
          "error()",
          "local x\nreturn x.y",
          "local x = 1\n\nreturn x + {}",
          "local function f() error('deep') end\nlocal function g() f() end\n\ng()",
          "return nothing",
          "nothing = 1",
          "function nothing() end",
          "string.rep = 1",
          "redis.call = 1",
          "KEYS = {}",
          "KEYS[1] = 'k' return KEYS[1]",
          "return #KEYS + #ARGV",
          "return {tostring(nil), tostring(1795300000000), 1795300000000 .. ''}",
          "return string.format('%.0f', 1795300000000000)",
          "return {tonumber('1e3'), tonumber('x'), tonumber(' 5 '), tonumber('0x10')}",
          "return {string.match('7 -3', '^(%d+) (-?%d+)$')}",
          "return {unpack({1, 2, 3}, 2)}",
          "this is no Lua",
          "return 'unfinished",
          ""})
        both.run(text, {}, {});
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::simulation
