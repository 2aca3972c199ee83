#include "decide/claim.hpp"
#include "decide/names.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>

namespace colock {

namespace {

constexpr std::string_view form = "colock-claim-1";

/// Takes the text up to the next space.
std::string_view take_word(std::string_view& text) noexcept
{
    auto const word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    return word;
}

template <class Number>
bool read_number(std::string_view text, Number& into) noexcept
{
    auto const* const end = text.data() + text.size();
    auto const [at, ec] = std::from_chars(text.data(), end, into);
    return ec == std::errc{} && at == end && !text.empty();
}

}  // namespace

std::string claim::to_string() const
{
    std::string text{form};
    for (auto const& word :
         {kind, std::to_string(token), std::to_string(valid_for.count()), field, name})
        text.append(1, ' ').append(word);
    return text;
}

std::optional<claim> claim::parse(std::string_view text)
{
    if (take_word(text) != form)
        return {};
    claim read;
    read.kind = take_word(text);
    std::chrono::milliseconds::rep time = 0;
    if (!read_number(take_word(text), read.token) || !read_number(take_word(text), time))
        return {};
    read.valid_for = std::chrono::milliseconds{time};
    read.field = take_word(text);
    read.name = text;
    return decide::is_possible(read) ? std::optional{read} : std::nullopt;
}

namespace decide {

bool is_possible(claim const& what) noexcept
{
    constexpr std::size_t uuid_size = 36, most_digits = 20;
    auto const is_digit = [](char c) { return c >= '0' && c <= '9'; };
    auto const is_of_uuid = [&](char c) {
        return is_digit(c) || c == '-' || (c >= 'a' && c <= 'f');
    };
    std::string_view const field = what.field;
    if (field.size() < uuid_size + 2 || field.size() > uuid_size + 1 + most_digits)
        return false;
    return std::ranges::all_of(field.substr(0, uuid_size), is_of_uuid) && field[uuid_size] == ':' &&
        std::ranges::all_of(field.substr(uuid_size + 1), is_digit) && !what.name.empty() &&
        what.name.size() <= longest_name;
}

}  // namespace decide

}  // namespace colock
