#pragma once

#include "decide/time.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colock::decide {

/// A client's word on itself: its label, what it holds and what it waits for. Other processes read
/// it, so it is part of the data format.
struct client_report {
    /// A hold, or an acquire that waits.
    struct entry {
        bool waits = false;
        std::string kind;         ///< plain, fair, read, permit…
        std::string key;          ///< of the lock or semaphore
        std::string id;           ///< of a hold: its field, or the permit's id in hexadecimal
        std::uint64_t owner = 0;  ///< which `colock::owner` of that client it is
        milliseconds age{};       ///< when the report was written

        friend bool operator==(entry const&, entry const&) = default;
    };

    std::string client;  ///< its uuid
    std::string label;
    std::vector<entry> entries;
    bool is_whole = true;  ///< false: there was more than a report takes

    friend bool operator==(client_report const&, client_report const&) = default;
};

/// The most entries of one sort that a report takes.
inline constexpr std::size_t most_reported = 64;

/// A younger hold is not worth a line: it may be gone before anybody reads it.
inline constexpr milliseconds youngest_reported{1'000};

/// A report is written again after this time, and ends by itself after its life.
inline constexpr milliseconds report_beat{5'000};
inline constexpr milliseconds report_life{15'000};

inline constexpr std::size_t longest_label = 128;

/// Whether a label may be shown anywhere: at most 128 bytes of UTF-8 without control characters.
bool is_label(std::string_view) noexcept;

/// The report as a text: each part behind its length and a colon.
std::string write_client_report(client_report const&);

/// Nothing if it is not such a text, or is of a later form.
std::optional<client_report> read_client_report(std::string_view);

/// The key of a client's report, `colock_client:<first 16 digits of its uuid>`. A permit's id tells
/// no more of its client than these.
std::string client_report_key(std::string_view uuid, std::string_view prefix = {});

/// The same for the client of a permit, by the id in hexadecimal.
std::string permit_report_key(std::string_view id, std::string_view prefix = {});

}  // namespace colock::decide
