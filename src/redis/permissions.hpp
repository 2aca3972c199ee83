#pragma once

#include "decide/reply.hpp"
#include "resp/writer.hpp"
#include <colock/config.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace colock {

/// What the user of a connection lacks, in lines that name it and the rule that gives it.
struct missing_permissions {
    std::string refusal;                ///< nothing works without it; empty if there is no such
    std::vector<std::string> warnings;  ///< what works less well, or not at all
    bool by_text = false;               ///< no EVALSHA: scripts go as text
};

/// Asks the server which commands, keys and channels of colock's it would refuse to this user. It
/// carries out none of them, so nobody is disturbed; servers before 7.0 answer that they don't
/// know, and then it shows at first use.
void pubsub_permission_probe(resp::writer& to, config const&, publishing how);

missing_permissions judge_permissions(decide::reply const& answer, config const&, publishing how);

/// The rule that would let a refused command pass, to be put behind the server's text; empty if it
/// was not refused for want of permission. `keys` are those of the command.
std::string permission_remedy(
    std::string_view text, config const&, std::span<std::string_view const> keys = {}
);

}  // namespace colock
