// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <functional>
#include <string_view>

namespace colock {
inline namespace v0_3 {

/// How much a log line matters. No line has the level `off`.
enum class log_level { debug, info, warning, error, off };

/// The destination of log lines.
///
/// Each line names the lock or the connection, and the cause; a line that needs somebody to act
/// names the remedy as well. No line has a password. A fault that goes on has less than 20 lines an
/// hour: the pauses between them grow, and a line says how many were left out, and how old it is.
/// `colock/log/spdlog.hpp` has a sink for spdlog.
struct logger {
    /// Called with each line at or above `level`, from the client's strand, so it must not block
    /// and must not call the client. Exceptions from it are dropped. If empty, no line is made.
    std::function<void(log_level, std::string_view)> sink{};

    /// The lowest level of which lines are made.
    log_level level = log_level::info;
};

/// A logger that writes warnings and errors to standard error, one line each. The default.
///
/// It never blocks: the lines of all clients of the process wait in a queue of 256 KiB, from which
/// a separate thread writes them. While the queue is full, lines are dropped; a later line says how
/// many, as soon as standard error takes lines again. At the end of the process the last lines get
/// 200 ms.
logger stderr_logger(log_level level = log_level::warning);

}  // namespace v0_3
}  // namespace colock
