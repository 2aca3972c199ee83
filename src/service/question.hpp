#pragma once

#include "redis/transport.hpp"
#include <colock/error.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock {

/// What to ask the server, in texts of its own.
struct question {
    scripts::script const* what;
    std::vector<std::string> keys;
    std::vector<std::string> arguments;
};

/// A question on its way. Lives where its answer is awaited.
struct asked_question {
    asked_question(question about, unsigned slot)
        : texts{std::move(about)}
        , keys{texts.keys.begin(), texts.keys.end()}
        , arguments{texts.arguments.begin(), texts.arguments.end()}
        , call{*texts.what, slot, keys, arguments}
    {}
    asked_question(asked_question const&) = delete;
    asked_question& operator=(asked_question const&) = delete;

    question texts;
    std::vector<std::string_view> keys, arguments;
    step call;
};

/// It could not be sent: nothing has been done.
inline bool is_unsent(answer const& got) noexcept
{
    return got.what == answer::kind::failed && got.sent == time_point{};
}

/// Why there is no reply.
inline error_code why_unanswered(answer const& got, bool stopped) noexcept
{
    if (stopped)
        return error::closed;
    return got.ec ? got.ec : error_code{error::unavailable};
}

}  // namespace colock
