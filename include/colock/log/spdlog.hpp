// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/log.hpp>

#include <spdlog/logger.h>

#include <memory>
#include <string_view>
#include <utility>

namespace colock {
inline namespace v0_3 {

/// A logger that writes to an spdlog logger, whose own level also applies. Link `colock::spdlog`.
///
/// The client's strand waits for that logger, and renewals wait with it. If a sink may block, as a
/// terminal, a pipe or a file may, pass an `spdlog::async_logger` with
/// `async_overflow_policy::overrun_oldest`. The `overrun_counter()` of its thread pool says how
/// many lines were dropped.
inline logger spdlog_logger(std::shared_ptr<spdlog::logger> to, log_level level = log_level::info)
{
    auto sink = [to = std::move(to)](log_level at, std::string_view line) {
        constexpr spdlog::level::level_enum levels[]{
            spdlog::level::debug,
            spdlog::level::info,
            spdlog::level::warn,
            spdlog::level::err,
            spdlog::level::off};
        to->log(levels[static_cast<int>(at)], "{}", line);
    };
    return {std::move(sink), level};
}

}  // namespace v0_3
}  // namespace colock
