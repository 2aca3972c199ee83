#include "decide/names.hpp"
#include "decide/reply.hpp"

#include <algorithm>
#include <array>

namespace colock::decide {

namespace {

/// The text of an error within a script without what Redis before 7.0 puts before it: "ERR Error
/// running script (call to f_…): @user_script:2: @user_script: 2: -READONLY You can't …".
std::string_view without_place(std::string_view text) noexcept
{
    constexpr std::string_view mark = "@user_script:";
    auto const at = text.rfind(mark);
    if (at == text.npos)
        return text;
    auto rest = text.substr(at + mark.size());
    auto const skip = [&](std::string_view what) {
        auto const end = rest.find_first_not_of(what);
        rest.remove_prefix(std::min(end, rest.size()));
    };
    skip(" ");
    skip("0123456789");
    if (!rest.starts_with(": "))
        return text;  // since 7.0 the place comes at the end
    rest.remove_prefix(2);
    return rest.starts_with('-') ? rest.substr(1) : rest;
}

}  // namespace

fault classify(std::string_view whole) noexcept
{
    using namespace std::string_view_literals;
    constexpr std::array not_now{"LOADING"sv, "BUSY"sv, "MASTERDOWN"sv};
    constexpr std::array passing{"OOM"sv, "NOREPLICAS"sv, "MISCONF"sv};
    auto const text = without_place(whole);
    auto const code = text.substr(0, text.find(' '));
    if (code == "NOSCRIPT")
        return fault::script_missing;
    if (code == "READONLY")
        return fault::read_only;
    if (code == "WRONGTYPE")
        return fault::wrong_type;
    if (read_redirection(text).what != redirection::kind::none)
        return fault::redirected;
    if (std::ranges::find(not_now, code) != not_now.end())
        return fault::not_now;
    if (std::ranges::find(passing, code) != passing.end())
        return fault::passing;
    return fault::refused;
}

// "MOVED 3999 127.0.0.1:6381", and ASK likewise. The last colon ends the host, even of an IPv6
// address.
redirection read_redirection(std::string_view whole)
{
    using kind = redirection::kind;
    auto const text = without_place(whole);
    auto const code = text.substr(0, text.find(' '));
    if (code == "TRYAGAIN")
        return {kind::try_again};
    if (code == "CLUSTERDOWN" || text.find("while the cluster is down") != text.npos)
        return {kind::down};
    // The words before these differ from version to version.
    if (text.find("to access a non local key") != text.npos)
        return {kind::cut_off};
    if (code != "MOVED" && code != "ASK")
        return {};
    auto const words = text.substr(std::min(code.size() + 1, text.size()));
    auto const space = words.find(' ');
    auto const colon = words.rfind(':');
    if (space == words.npos || colon == words.npos || colon < space)
        return {};
    redirection to{code == "MOVED" ? kind::moved : kind::ask};
    auto const slot = number_of<unsigned>(words.substr(0, space));
    auto const port = number_of<std::uint16_t>(words.substr(colon + 1));
    if (!slot || *slot >= slot_count || !port)
        return {};
    to.slot = *slot;
    to.port = *port;
    to.host = words.substr(space + 1, colon - space - 1);
    if (to.host == "?")  // the node does not know its host
        to.host.clear();
    return to;
}

acquire_answer read_acquire(reply const& r, bool may_be_one) noexcept
{
    using kind = acquire_answer::kind;
    bool const is_one = r.number < 0;
    if (r.what == reply::kind::integer && (!is_one || may_be_one)) {
        auto const token = static_cast<std::uint64_t>(r.number);
        return {
            .what = kind::granted,
            .last_token = is_one ? 0 - token : token,
            .is_one_token = is_one};
    }
    if (auto const no = read_refusal(r); no.well_formed)
        return {
            kind::refused,
            0,
            no.number,
            no.since,
            (no.list & 1) != 0,
            (no.list & 2) != 0,
            (no.list & 4) != 0};
    return {};
}

acquire_answer read_permit(reply const& r) noexcept
{
    using kind = acquire_answer::kind;
    acquire_answer got;
    if (r.what == reply::kind::integer && (r.number == 1 || r.number < 0)) {
        got.what = kind::granted;
        if (r.number < 0)
            got.permits = 0 - r.number;
        return got;
    }
    auto const no = read_refusal(r, 4);
    if (!no.well_formed)
        return got;
    got.what = kind::refused;
    got.pttl = std::max<std::int64_t>(no.number, -1);
    got.since = no.since;
    got.stands = (no.list & 1) != 0;
    got.is_first = (no.list & 2) != 0;
    got.is_foreign = true;
    got.is_absent = (no.list & 8) != 0;
    if ((no.list & 16) != 0)
        got.permits = no.last;
    return got;
}

refusal_answer read_refusal(reply const& r, std::size_t most) noexcept
{
    auto const is_number = [](reply const& item) { return item.what == reply::kind::integer; };
    if (r.what != reply::kind::list || r.items.empty() || r.items.size() > most ||
        !std::ranges::all_of(r.items, is_number))
        return {};
    auto const number = [&](std::size_t i) { return i < r.items.size() ? r.items[i].number : 0; };
    return {true, number(0), number(1), number(2), number(3)};
}

release_answer read_release(reply const& r) noexcept
{
    using kind = release_answer::kind;
    if (r.what == reply::kind::integer && r.number == release_answer::gone_unheard)
        return {kind::gone, release_answer::unheard};
    if (r.what == reply::kind::integer)
        return {kind::released, r.number};
    if (r.what == reply::kind::list && r.items.size() == 2 &&
        r.items[0].what == reply::kind::integer && r.items[1].what == reply::kind::integer)
        return {kind::released, r.items[0].number, true, r.items[1].number};
    if (r.what == reply::kind::nil)
        return {kind::gone, 0};
    return {};
}

extend_answer read_extend(reply const& r) noexcept
{
    if (r.what != reply::kind::integer)
        return extend_answer::malformed;
    return r.number == 1 ? extend_answer::extended : extend_answer::gone;
}

bool is_extended(reply const* part) noexcept
{
    return part && read_extend(*part) == extend_answer::extended;
}

reply const* part_of(reply const* answer, std::size_t parts, std::size_t place) noexcept
{
    if (!answer)
        return nullptr;
    auto const& items = answer->items;
    if (items.size() == parts)
        return &items[place];
    return items.size() == 1 && is_extended(&items.front()) ? &items.front() : nullptr;
}

keep_answer read_keep(reply const& r) noexcept
{
    using kind = keep_answer::kind;
    if (r.what == reply::kind::integer && r.number == 0)
        return {kind::gone, 0};
    if (r.what == reply::kind::list && r.items.size() == 1 &&
        r.items.front().what == reply::kind::integer)
        return {kind::waits, r.items.front().number};
    return {};
}

inspect_answer read_inspect(reply const& r) noexcept
{
    using kind = reply::kind;
    if (r.what != kind::list || r.items.size() != 3 || r.items[0].what != kind::integer ||
        r.items[1].what != kind::text || r.items[2].what != kind::integer)
        return {};
    auto const pttl = r.items[0].number;
    auto const& mode = r.items[1].text;
    inspect_answer found{true, pttl != -2, pttl};
    found.is_written = mode == "write";
    // The fields are the mode and the writer; further fields are the writer's own read side.
    found.is_read = mode == "read" || (found.is_written && r.items[2].number > 2);
    return found;
}

}  // namespace colock::decide
