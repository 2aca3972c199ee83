// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <functional>
#include <string_view>

namespace colock {

/// How much a log line matters; `off` is the level of none.
enum class log_level { debug, info, warning, error, off };

/// Where log lines go.
///
/// Each line names the lock or link, the operation, the cause and what to do, and never a
/// password. `colock/log/spdlog.hpp` has a sink for spdlog.
struct logger {
    /// Called with each line at or above `level`, from the client's strand, so it must not block
    /// and must not call the client. What it throws is dropped. Empty: no line is made.
    std::function<void(log_level, std::string_view)> sink{};

    /// The least level that is made into a line at all.
    log_level level = log_level::info;
};

/// A logger that writes warnings and errors to standard error, one line each. The default.
///
/// It never blocks: lines of all clients of the process wait in a queue of 256 KiB, from which a
/// thread of its own writes them. What finds the queue full is dropped, and how many lines that
/// were is written as soon as standard error takes lines again. At the end of the process the last
/// lines get 200 ms.
logger stderr_logger(log_level level = log_level::warning);

}  // namespace colock
