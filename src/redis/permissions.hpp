#pragma once

#include "decide/reply.hpp"
#include "resp/writer.hpp"
#include <colock/config.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace colock {

/// The missing permissions of a connection's user, as lines that name each one and the rule that
/// grants it.
struct missing_permissions {
    std::string refusal;                ///< nothing works without it; empty if none
    std::vector<std::string> warnings;  ///< things that work less well, or not at all
    bool by_text = false;               ///< no EVALSHA: scripts go as text
};

/// Asks the server which of colock's commands, keys and channels it would refuse to this user. It
/// executes none of them, so nobody is disturbed. Servers before 7.0 can't answer; there it tries
/// TIME, and any other missing permission shows at first use.
void pubsub_permission_probe(resp::writer& to, config const&, publishing how);

missing_permissions judge_permissions(decide::reply const& answer, config const&, publishing how);

/// The ACL rule or the setting of the server that would allow a refused command, to append to the
/// server's text; empty if the reason was neither. `keys` are the command's keys.
std::string permission_remedy(
    std::string_view text, config const&, std::span<std::string_view const> keys = {}
);

}  // namespace colock
