// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "simulated_server/commands/command.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <unordered_map>

namespace colock::simulation {

namespace {

using command_table = std::unordered_map<std::string_view, command const*>;

command_table make_table()
{
    command_table all;
    for (auto const part :
         {key_commands(),
          string_commands(),
          hash_commands(),
          list_commands(),
          sorted_set_commands()})
        for (auto const& one : part)
            all.emplace(one.name, &one);
    return all;
}

constexpr char lower(char c) noexcept
{
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

}  // namespace

command const* find_command(std::string_view name)
{
    static command_table const all = make_table();
    std::array<char, 32> small{};
    if (name.size() > small.size())
        return nullptr;
    std::ranges::transform(name, small.begin(), lower);
    auto const found = all.find({small.data(), name.size()});
    return found == all.end() ? nullptr : found->second;
}

namespace {

constexpr std::array<std::string_view, 9> taking_memory{
    "decr", "decrby", "hset", "incr", "incrby", "rpush", "set", "zadd", "zincrby"};
constexpr std::array<std::string_view, 6> other_writes{
    "del", "hdel", "lpop", "lrem", "pexpire", "zrem"};

}  // namespace

bool is_refused_for_memory(command const& what, workspace const& on) noexcept
{
    return on.is_full && !on.has_written &&
        std::ranges::find(taking_memory, what.name) != taking_memory.end();
}

bool writes(command const& what) noexcept
{
    return std::ranges::find(taking_memory, what.name) != taking_memory.end() ||
        std::ranges::find(other_writes, what.name) != other_writes.end();
}

outcome carry_out(command const& what, workspace& on, words given)
{
    try {
        return what.run(on, given);
    } catch (refusal const& why) {
        return outcome{reply::error(why.what())};
    }
}

bool is_option(std::string_view word, std::string_view option) noexcept
{
    return std::ranges::equal(word, option, {}, lower, lower);
}

std::optional<std::int64_t> to_integer(std::string_view text) noexcept
{
    auto const digits = text.substr(text.starts_with('-') ? 1 : 0);
    if (digits.empty() || (digits[0] == '0' && text.size() != 1))
        return {};
    std::int64_t number = 0;
    auto const* const end = text.data() + text.size();
    auto const [at, ec] = std::from_chars(text.data(), end, number);
    if (ec != std::errc{} || at != end)
        return {};
    return number;
}

std::int64_t integer(std::string_view text)
{
    if (auto const number = to_integer(text))
        return *number;
    throw refusal{"ERR value is not an integer or out of range"};
}

std::int64_t signed_count(std::string_view text)
{
    auto const count = integer(text);
    if (count == std::numeric_limits<std::int64_t>::min())
        throw refusal{
            "ERR value is out of range, value must between -9223372036854775807 and "
            "9223372036854775807"};
    return count;
}

namespace {

/// What strtod makes of a text that it takes as a whole.
std::optional<double> to_double(std::string_view text)
{
    std::string const whole{text};
    char* end = nullptr;
    errno = 0;
    double const number = std::strtod(whole.c_str(), &end);
    if (end != whole.c_str() + whole.size() || std::isnan(number))
        return {};
    return number;
}

}  // namespace

double floating(std::string_view text)
{
    bool const is_blank = text.empty() || std::isspace(static_cast<unsigned char>(text[0])) != 0;
    auto const number = to_double(text);
    bool const is_out_of_range = errno == ERANGE && number && (std::isinf(*number) || *number == 0);
    if (is_blank || !number || is_out_of_range)
        throw refusal{"ERR value is not a valid float"};
    return *number;
}

double range_end(std::string_view text)
{
    if (auto const number = to_double(text))
        return *number;
    throw refusal{"ERR min or max is not a float"};
}

std::int64_t truncated(double number) noexcept
{
    constexpr double bound = 9'223'372'036'854'775'808.0;
    bool const fits = number >= -bound && number < bound;
    return fits ? static_cast<std::int64_t>(number) : std::numeric_limits<std::int64_t>::min();
}

std::string to_text(double number)
{
    constexpr double bound = 4'611'686'018'427'387'904.0;  // half of what fits, as there
    if (std::abs(number) < bound && number == std::trunc(number))
        return std::to_string(static_cast<std::int64_t>(number));
    if (std::isinf(number))
        return number > 0 ? "inf" : "-inf";
    std::array<char, 32> digits{};
    auto* const end = digits.data() + digits.size();
    if (std::abs(number) >= bound) {
        // The fewest digits that tell this number from its neighbours; then zeros, if few are due.
        auto const shortest =
            std::to_chars(digits.data(), end, number, std::chars_format::scientific);
        std::string text{digits.data(), shortest.ptr};
        auto const power = std::stoul(text.substr(text.find('e') + 1));
        auto significant = text.substr(0, text.find('e'));
        std::erase(significant, '.');
        auto const sign = std::size_t{number < 0};
        if (power < significant.size() - sign + 7) {
            significant.resize(power + 1 + sign, '0');
            return significant;
        }
    }
    auto const written = std::to_chars(digits.data(), end, number);
    return {digits.data(), written.ptr};
}

std::pair<std::size_t, std::size_t> range(
    std::int64_t start, std::int64_t stop, std::size_t size
) noexcept
{
    auto const count = static_cast<std::int64_t>(size);
    auto const from_front = [count](std::int64_t i) { return i < 0 ? i + count : i; };
    auto const first = std::max<std::int64_t>(from_front(start), 0);
    auto const last = std::min(from_front(stop), count - 1);
    if (first > last)
        return {0, 0};
    return {static_cast<std::size_t>(first), static_cast<std::size_t>(last) + 1};
}

namespace {

constexpr auto least = std::numeric_limits<std::int64_t>::min();
constexpr auto greatest = std::numeric_limits<std::int64_t>::max();

outcome get(workspace& on, words given)
{
    auto const* const found = on.read<std::string>(given[1]);
    return found ? outcome{reply::of(*found)} : outcome{};
}

// Of the options PX alone.
outcome set(workspace& on, words given)
{
    std::optional<std::int64_t> expires_at;
    if (given.size() == 4 && is_option(given[3], "KEEPTTL")) {
        if (auto const* const found = on.find(given[1]))
            expires_at = found->expires_at;
    } else if (given.size() > 3) {
        if (given.size() != 5 || !is_option(given[3], "PX"))
            throw refusal{"ERR syntax error"};
        auto const lease = integer(given[4]);
        if (lease <= 0 || lease > greatest - on.now_ms())
            throw refusal{"ERR invalid expire time in 'set' command"};
        expires_at = on.now_ms() + lease;
    }
    on.keys.put(given[1], std::string{given[2]}).expires_at = expires_at;
    return outcome::status("OK");
}

outcome add(workspace& on, std::string_view key, std::int64_t by)
{
    auto* const found = on.read<std::string>(key);
    auto const before = found ? integer(*found) : 0;
    if (by < 0 ? before < least - by : before > greatest - by)
        throw refusal{"ERR increment or decrement would overflow"};
    auto const now = before + by;
    on.write<std::string>(key) = std::to_string(now);
    return now;
}

outcome incr(workspace& on, words given) { return add(on, given[1], 1); }
outcome decr(workspace& on, words given) { return add(on, given[1], -1); }
outcome incrby(workspace& on, words given) { return add(on, given[1], integer(given[2])); }

outcome decrby(workspace& on, words given)
{
    auto const by = integer(given[2]);
    if (by == least)
        throw refusal{"ERR decrement would overflow"};
    return add(on, given[1], -by);
}

constexpr std::array of_strings{
    command{"get", 2, &get},
    command{"set", -3, &set},
    command{"incr", 2, &incr},
    command{"incrby", 3, &incrby},
    command{"decr", 2, &decr},
    command{"decrby", 3, &decrby}};

}  // namespace

std::span<command const> string_commands() noexcept { return of_strings; }

}  // namespace colock::simulation
