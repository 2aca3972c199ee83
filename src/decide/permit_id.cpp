#include "decide/permit_id.hpp"

namespace colock::decide {

namespace {

constexpr std::string_view hexadecimal_digits = "0123456789abcdef";

}  // namespace

std::string permit_id(std::string_view client_uuid, std::uint64_t number)
{
    std::string id;
    unsigned half = 0;
    bool begun = false;
    for (char const c : client_uuid) {
        auto const digit = hexadecimal_digits.find(c);
        if (digit == hexadecimal_digits.npos)
            continue;
        if (begun)
            id += static_cast<char>(half << 4U | static_cast<unsigned>(digit));
        half = static_cast<unsigned>(digit);
        begun = !begun;
    }
    for (std::size_t i = id.size(); i-- > id.size() - 8; number >>= 8U)
        id[i] = static_cast<char>(static_cast<unsigned char>(id[i]) ^ (number & 0xffU));
    return id;
}

std::string hex_of(std::string_view bytes)
{
    std::string text;
    for (char const c : bytes) {
        auto const byte = static_cast<unsigned char>(c);
        text += hexadecimal_digits[byte >> 4U];
        text += hexadecimal_digits[byte & 15U];
    }
    return text;
}

std::optional<std::string> permit_bytes(std::string_view hex)
{
    if (hex.size() != 32)
        return {};
    std::string bytes;
    for (std::size_t i = 0; i != hex.size(); i += 2) {
        auto const high = hexadecimal_digits.find(hex[i]);
        auto const low = hexadecimal_digits.find(hex[i + 1]);
        if (high == hexadecimal_digits.npos || low == hexadecimal_digits.npos)
            return {};
        bytes += static_cast<char>(high << 4U | low);
    }
    return bytes;
}

}  // namespace colock::decide
