// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <cstddef>
#include <string>

namespace colock::test {

/// A file in memory that several processes share. All of it is 0 at first.
class shared_memory {
public:
    /// Opens or makes the file.
    shared_memory(std::string const& file, std::size_t size);
    shared_memory(shared_memory const&) = delete;
    shared_memory& operator=(shared_memory const&) = delete;
    ~shared_memory();

    void* at() const noexcept { return at_; }

private:
    std::size_t size_;
    void* at_ = nullptr;
};

}  // namespace colock::test
