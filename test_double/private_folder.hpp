// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <string>

namespace colock {
inline namespace v0_3 {
namespace testing {

/// A temporary folder that goes with this object, or, if its process is killed, with the next one
/// that the same user makes: one is in use while a process has the lock of a file in it, whatever
/// names of processes mean there.
class private_folder {
public:
    private_folder();
    ~private_folder();
    private_folder(private_folder const&) = delete;
    private_folder& operator=(private_folder const&) = delete;

    std::string const& path() const noexcept { return path_; }

private:
    std::string path_;
    int lock_ = -1;  ///< descriptor of the locked file
};

}  // namespace testing
}  // namespace v0_3
}  // namespace colock
