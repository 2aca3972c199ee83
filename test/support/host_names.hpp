// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <chrono>
#include <string>
#include <vector>

namespace colock::test {

/// A name that this process resolves without a name server, while the object lives. The tests'
/// programs have a getaddrinfo of their own, which knows these names and leaves the others to the
/// system.
class host_name {
public:
    /// A lookup takes so long, and then gives these addresses in this order; without any it fails.
    host_name(
        std::string name, std::vector<std::string> addresses, std::chrono::milliseconds takes
    );
    host_name(host_name const&) = delete;
    host_name& operator=(host_name const&) = delete;
    /// Lookups that are under way fail now.
    ~host_name();

    /// Until a lookup is under way: its thread waits, and has no lock of the allocator.
    void wait_until_asked() const;

private:
    std::string name_;
};

}  // namespace colock::test
