// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "messages.hpp"
#include "text.hpp"

#include <algorithm>
#include <climits>
#include <poll.h>
#include <unistd.h>

namespace cli {

void put_at_once(std::string_view text)
{
    no_pipe_signal const guard;
    pollfd out{STDERR_FILENO, POLLOUT, 0};
    // A pipe that has room takes that much.
    constexpr std::size_t piece = PIPE_BUF;
    while (!text.empty() && poll(&out, 1, 0) == 1 && (out.revents & POLLOUT) != 0) {
        auto const written = write(STDERR_FILENO, text.data(), std::min(text.size(), piece));
        if (written <= 0)
            return;
        text.remove_prefix(static_cast<std::size_t>(written));
    }
}

void remark(std::string const& line) { put_at_once(safe_to_print(line) + "\n"); }

}  // namespace cli
