#include "decide/claim.hpp"
#include "decide/names.hpp"
#include "decide/number.hpp"
#include "decide/time.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace colock {

namespace {

constexpr std::string_view claim_form = "colock-claim-1";

/// Takes the text up to the next space.
std::string_view take_word(std::string_view& text) noexcept
{
    auto const word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    return word;
}

}  // namespace

std::string claim::to_string() const
{
    std::string text{claim_form};
    for (auto const& word :
         {kind, std::to_string(token), std::to_string(valid_for.count()), field, name})
        text.append(1, ' ').append(word);
    return text;
}

std::optional<claim> claim::parse(std::string_view text)
{
    if (take_word(text) != claim_form)
        return {};
    claim read;
    read.kind = take_word(text);
    auto const token = decide::number_of<std::uint64_t>(take_word(text));
    auto const time = decide::number_of<decide::milliseconds::rep>(take_word(text));
    if (!token || !time)
        return {};
    read.token = *token;
    read.valid_for = decide::milliseconds{*time};
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
