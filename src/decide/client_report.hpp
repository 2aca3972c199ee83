#pragma once

#include "decide/time.hpp"
#include <colock/admin/layout.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colock::decide {

using admin::client_report;
using admin::most_reported;
using admin::read_client_report;
using admin::report_beat;
using admin::report_life;

/// A younger hold is not worth a line: it may be gone before anybody reads it.
inline constexpr milliseconds youngest_reported{500};

inline constexpr std::size_t longest_label = 128;

/// Whether a label may be shown anywhere: at most 128 bytes of UTF-8 without control characters.
bool is_label(std::string_view) noexcept;

/// The report as a text: each part behind its length and a colon.
std::string write_client_report(client_report const&);

/// The key of a client's report, `colock_client:<first 16 digits of its uuid>`. A permit's id tells
/// no more of its client than these.
std::string client_report_key(std::string_view uuid, std::string_view prefix = {});

/// The same for the client of a permit, by the id in hexadecimal.
std::string permit_report_key(std::string_view id, std::string_view prefix = {});

}  // namespace colock::decide
