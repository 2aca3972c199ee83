// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Error replies: what a redirection names is in range and can be written again, each error has one
// meaning, and the remedy for a refusal shows no password.
#include "decide/names.hpp"
#include "decide/reply.hpp"
#include "fuzz/fuzz.hpp"
#include "redis/permissions.hpp"
#include <colock/printable.hpp>

#include <string>
#include <string_view>

namespace colock::fuzz {

namespace {

using decide::redirection;
using kind = redirection::kind;

void check_place(redirection const& to)
{
    bool const has_place = to.what == kind::moved || to.what == kind::ask;
    require(has_place || (to.slot == 0 && to.port == 0 && to.host.empty()), "no place of others");
    if (!has_place)
        return;
    require(to.slot < decide::slot_count, "the slot is in range");
    require(to.host != "?", "an unknown host is none");
    std::string again = to.what == kind::moved ? "MOVED " : "ASK ";
    again.append(std::to_string(to.slot)).append(" ").append(to.host).append(":");
    again.append(std::to_string(to.port));
    auto const same = decide::read_redirection(again);
    require(
        same.what == to.what && same.slot == to.slot && same.host == to.host &&
            same.port == to.port,
        "what was read is written again"
    );
}

void check_remedy(std::string_view text)
{
    constexpr std::string_view secret = "colock-secret";
    config c;
    c.username = "somebody";
    c.password = secret;
    std::string_view const keys[]{"some:key"};
    auto const remedy = permission_remedy(text, c, keys);
    // An escape ends in a digit that may complete the word: \x1c before "olock-secret".
    bool const looks_so =
        text.find(secret) == text.npos && printable(text).find(secret) != text.npos;
    require(looks_so || remedy.find(secret) == remedy.npos, "a remedy shows no password");
    bool const is_setting = remedy.find("lua-replicate-commands") != remedy.npos;
    require(
        remedy.empty() || is_setting || remedy.find("somebody") != remedy.npos,
        "a remedy names the user or the setting"
    );
}

}  // namespace

void redirections(std::string_view text);

void redirections(std::string_view text)
{
    auto const to = decide::read_redirection(text);
    check_place(to);
    auto const meaning = decide::classify(text);
    require(
        meaning != decide::fault::redirected || to.what != kind::none, "what redirects says why"
    );
    require(
        meaning != decide::fault::refused || to.what == kind::none, "what redirects is no refusal"
    );
    check_remedy(text);
}

}  // namespace colock::fuzz
