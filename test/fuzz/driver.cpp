// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What libFuzzer calls. COLOCK_FUZZ_TARGET is the function of the one target in this program.
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace colock::fuzz {

void COLOCK_FUZZ_TARGET(std::string_view input);

}  // namespace colock::fuzz

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size)
{
    colock::fuzz::COLOCK_FUZZ_TARGET({reinterpret_cast<char const*>(data), size});
    return 0;
}
