#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// The ids of permits: 16 bytes in Redis, 32 hexadecimal digits for people, as Redisson has them.
namespace colock::decide {

inline constexpr std::int64_t permit_id_size = 16;

/// The id for this number of a client: its UUID mixed with the number. The ids of two clients are
/// as different as their UUIDs.
std::string permit_id(std::string_view client_uuid, std::uint64_t number);

std::string hex_of(std::string_view bytes);

/// The 16 bytes of an id of 32 hexadecimal digits; nothing if it is no such id.
std::optional<std::string> permit_bytes(std::string_view hex);

}  // namespace colock::decide
