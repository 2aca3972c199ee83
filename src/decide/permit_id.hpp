#pragma once

#include <cstdint>
#include <string>
#include <string_view>

// The ids of permits: 16 bytes in Redis, 32 hexadecimal digits for people, as Redisson has them.
namespace colock::decide {

/// The id with this number of a client: its UUID, in which the number is mixed. Two clients' are as
/// different as their UUIDs.
std::string permit_id(std::string_view client_uuid, std::uint64_t number);

std::string hex_of(std::string_view bytes);

}  // namespace colock::decide
