#include "decide/client_report.hpp"
#include "decide/number.hpp"

namespace colock::decide {

namespace {

constexpr std::string_view form = "1";
constexpr std::size_t words_of_entry = 6, words_before = 4;
constexpr std::size_t uuid_half = 18;  ///< with the hyphens
constexpr std::size_t id_half = 16;

void add(std::string& to, std::string_view word)
{
    to.append(std::to_string(word.size())).append(1, ':').append(word);
}

/// The words of the text; nothing if it is malformed.
std::optional<std::vector<std::string_view>> split(std::string_view text)
{
    std::vector<std::string_view> words;
    while (!text.empty()) {
        auto const colon = text.find(':');
        auto const length = number_of<std::size_t>(text.substr(0, colon));
        if (colon == text.npos || !length || *length > text.size() - colon - 1)
            return {};
        words.push_back(text.substr(colon + 1, *length));
        text.remove_prefix(colon + 1 + *length);
    }
    return words;
}

/// The bytes of the first character of UTF-8, by its lead; 0 if there is none.
std::size_t length_of_first(std::string_view text) noexcept
{
    auto const lead = static_cast<unsigned char>(text.front());
    std::size_t const length = lead < 0x80U ? 1
        : lead >= 0xc2U && lead < 0xe0U     ? 2
        : lead >= 0xe0U && lead < 0xf0U     ? 3
        : lead >= 0xf0U && lead < 0xf5U     ? 4
                                            : 0;
    if (length > text.size())
        return 0;
    for (std::size_t i = 1; i < length; ++i)
        if ((static_cast<unsigned char>(text[i]) & 0xc0U) != 0x80U)
            return 0;
    return length;
}

/// It begins with a control character: of ASCII, DEL, or one of Latin-1's.
bool is_control(std::string_view text) noexcept
{
    auto const first = static_cast<unsigned char>(text.front());
    return first < 0x20U || first == 0x7fU ||
        (first == 0xc2U && static_cast<unsigned char>(text[1]) < 0xa0U);
}

}  // namespace

bool is_label(std::string_view text) noexcept
{
    if (text.size() > longest_label)
        return false;
    while (!text.empty()) {
        auto const length = length_of_first(text);
        if (length == 0 || is_control(text))
            return false;
        text.remove_prefix(length);
    }
    return true;
}

std::string write_client_report(client_report const& report)
{
    std::string text;
    add(text, form);
    add(text, report.client);
    add(text, report.label);
    add(text, report.is_whole ? "1" : "0");
    for (auto const& each : report.entries) {
        add(text, each.waits ? "waits" : "holds");
        add(text, each.kind);
        add(text, each.key);
        add(text, each.id);
        add(text, std::to_string(each.owner));
        add(text, std::to_string(each.age.count()));
    }
    return text;
}

std::string client_report_key(std::string_view uuid, std::string_view prefix)
{
    std::string key{prefix};
    key += "colock_client:";
    for (char const digit : uuid.substr(0, uuid_half))
        if (digit != '-')
            key += digit;
    return key;
}

std::string permit_report_key(std::string_view id, std::string_view prefix)
{
    return std::string{prefix}.append("colock_client:").append(id.substr(0, id_half));
}

}  // namespace colock::decide

namespace colock {
inline namespace v0_3 {
namespace admin {

std::optional<client_report> read_client_report(std::string_view text)
{
    auto const words = decide::split(text);
    if (!words || words->size() < decide::words_before || words->front() != decide::form ||
        (words->size() - decide::words_before) % decide::words_of_entry != 0)
        return {};
    client_report report{
        std::string{(*words)[1]}, std::string{(*words)[2]}, {}, (*words)[3] == "1"};
    for (auto i = decide::words_before; i != words->size(); i += decide::words_of_entry) {
        auto const word = [&](std::size_t n) { return (*words)[i + n]; };
        client_report::entry next{
            word(0) == "waits", std::string{word(1)}, std::string{word(2)}, std::string{word(3)}};
        auto const owner = decide::number_of<std::uint64_t>(word(4));
        auto const age = decide::number_of<std::int64_t>(word(5));
        if ((!next.waits && word(0) != "holds") || !owner || !age || *age < 0)
            return {};
        next.owner = *owner;
        next.age = std::chrono::milliseconds{*age};
        report.entries.push_back(std::move(next));
    }
    return report;
}

}  // namespace admin
}  // namespace v0_3
}  // namespace colock
