#pragma once

#include "redis/transport.hpp"
#include <colock/error.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock {

/// A call of a script. It lives where its answer is awaited.
struct script_call {
    /// The script to call, with keys and arguments as texts of their own.
    struct request {
        scripts::script const* what;
        std::vector<std::string> keys;
        std::vector<std::string> arguments;
        bool once = false;       ///< not to be repeated after a lost answer
        decide::copies wants{};  ///< that have to have it
    };

    script_call(request about, unsigned slot)
        : texts{std::move(about)}
        , keys{texts.keys.begin(), texts.keys.end()}
        , arguments{texts.arguments.begin(), texts.arguments.end()}
        , call{*texts.what, slot, keys, arguments}
    {}
    script_call(script_call const&) = delete;
    script_call& operator=(script_call const&) = delete;

    request texts;
    std::vector<std::string_view> keys, arguments;
    step call;
};

/// True if it could not be sent: nothing has been done.
inline bool is_unsent(answer const& got) noexcept
{
    return got.what == answer::kind::failed && got.sent == time_point{};
}

/// Why there is no reply.
inline failure why_unanswered(answer const& got, bool stopped) noexcept
{
    if (stopped)
        return error::closed;
    return got.ec ? got.ec : failure{error::unavailable};
}

}  // namespace colock
