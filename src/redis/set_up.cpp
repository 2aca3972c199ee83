#include "redis/set_up.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace colock {

using decide::reply;

namespace {

std::string const nothing;

bool is_unknown_command(std::string_view text) noexcept
{
    return text.find("unknown command") != text.npos || text.find("Unknown command") != text.npos;
}

/// Errors of HELLO that waiting does not cure. All others may pass: the server has no room for
/// another client, or loads its data, or a proxy is in front of it.
bool is_final(std::string_view text) noexcept
{
    using namespace std::string_view_literals;
    constexpr std::array codes{"WRONGPASS"sv, "NOAUTH"sv, "NOPERM"sv, "DENIED"sv, "NOPROTO"sv};
    auto const code = text.substr(0, text.find(' '));
    return std::ranges::find(codes, code) != codes.end() || is_unknown_command(text) ||
        text.find("invalid username-password") != text.npos ||
        text.find("invalid password") != text.npos;
}

set_up::verdict refused(reply const& error, char const* command)
{
    auto text = std::string{command} + " is refused: " + error.text;
    if (is_unknown_command(error.text))
        text =
            "the server does not know HELLO. Remedy: Redis 6.0 or later, or Valkey, without "
            "rename-command for HELLO";
    if (error.text.find("not allowed in cluster mode") != error.text.npos)
        text += ". Remedy: database 0, or Valkey 9 with cluster-databases";
    return {error::server_refused, std::move(text)};
}

/// A value of the map that HELLO returns.
std::string_view field_of(reply const& hello, std::string_view name)
{
    for (std::size_t i = 0; i + 1 < hello.items.size(); i += 2)
        if (hello.items[i].text == name)
            return hello.items[i + 1].text;
    return {};
}

}  // namespace

void set_up::write(resp::writer& to) const
{
    bool const has_password = !username.empty() || !password.empty();
    to.begin(2 + (has_password ? 3 : 0) + (client_name.empty() ? 0 : 2));
    to.add("HELLO");
    to.add("3");
    if (has_password) {
        to.add("AUTH");
        to.add(username.empty() ? std::string_view{"default"} : username);
        to.add(password);
    }
    if (!client_name.empty()) {
        to.add("SETNAME");
        to.add(client_name);
    }
    if (database != 0)
        to.push("SELECT", database);
}

set_up::verdict set_up::judge(std::span<reply const> got) const
{
    if (!got.empty() && got.front().what == reply::kind::error) {
        auto const& error = got.front();
        return is_final(error.text) ? refused(error, "HELLO")
                                    : verdict{error::unavailable, error.text};
    }
    if (got.size() < replies())
        return {error::bad_reply, "the answers to HELLO and SELECT are no such"};
    auto const& hello = got.front();
    if (hello.what != reply::kind::list)
        return {error::bad_reply, "the answer to HELLO is no such"};
    if (database != 0 && got[1].what == reply::kind::error) {
        if (decide::classify(got[1].text) == decide::fault::not_now)
            return {error::unavailable, got[1].text};
        return refused(got[1], "SELECT");
    }
    if (!is_replica(hello))
        return {};
    return {
        wanted == role::primary ? error_code{error::unavailable} : error_code{},
        "the server is a replica and refuses writes (READONLY). Remedy: the address of the "
        "primary, or redis+sentinel://",
        true};
}

bool is_replica(reply const& hello) noexcept
{
    auto const role = field_of(hello, "role");
    return role == "replica" || role == "slave";
}

set_up set_up_of_servers(config const& c, credentials const& with, set_up::role wanted)
{
    return {with.username, with.password, c.client_name, c.database, wanted};
}

set_up set_up_of_sentinels(credentials const& with)
{
    return {with.username, with.password, nothing};
}

}  // namespace colock
