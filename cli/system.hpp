// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <array>
#include <csignal>
#include <cstddef>
#include <memory>
#include <vector>

// Linux, macOS and FreeBSD differ in these.
namespace cli {

/// The descriptors that are open now.
std::vector<int> open_descriptors();

/// In a child: it gets this signal when its parent ends. Nothing happens where the system has no
/// such thing. Only system calls.
void die_with_parent(int signal) noexcept;

/// Signals that are blocked, as records to be read from a descriptor.
class signal_stream {
public:
    /// One signal, in the system's form.
    using record = std::array<std::byte, 128>;

    /// All that are in the set. \throws std::system_error
    explicit signal_stream(sigset_t const&);
    ~signal_stream();

    /// It is to be closed by the caller.
    int descriptor() const noexcept { return descriptor_; }

    static int number_of(record const&) noexcept;

    /// The terminal has sent it.
    static bool is_from_keyboard(record const&) noexcept;

private:
    class taker;
    int descriptor_;
    std::unique_ptr<taker> taker_;
};

}  // namespace cli
