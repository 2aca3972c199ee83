// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "private_folder.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <stdexcept>
#include <string_view>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

namespace colock {
inline namespace v0_3 {
namespace testing {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view folder_begin = "colock-testing-", unlocked_begin = "colock-new-";
constexpr char const* in_use = "/in-use";

/// The folders of tests that were killed.
void remove_leftovers(fs::path const& in)
{
    std::error_code ignored;
    for (fs::directory_iterator at{in, ignored}, end; !ignored && at != end;
         at.increment(ignored)) {
        auto const path = at->path().string();
        struct stat about {};
        bool const is_ours = at->path().filename().string().starts_with(folder_begin) &&
            ::lstat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode) &&
            about.st_uid == ::getuid();
        // Without such a file it is somebody else's.
        int const lock = is_ours
            ? ::open((path + in_use).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
            : -1;
        if (lock < 0)
            continue;
        std::error_code failed;
        if (::flock(lock, LOCK_EX | LOCK_NB) == 0)
            fs::remove_all(path, failed);
        ::close(lock);
    }
}

}  // namespace

private_folder::private_folder()
{
    auto const in = fs::temp_directory_path();
    remove_leftovers(in);
    // Under a name that nobody clears away until the lock is taken.
    auto const number = std::to_string(::getpid()) + '-';
    auto made = (in / (std::string{unlocked_begin} + number + "XXXXXX")).string();
    if (::mkdtemp(made.data())) {
        auto const random = made.substr(made.size() - 6);
        lock_ = ::open((made + in_use).c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        path_ = (in / (std::string{folder_begin} + number + random)).string();
        if (lock_ >= 0) {
            // Where files can't be locked, nobody else gets the lock either.
            ::flock(lock_, LOCK_EX);
            if (::rename(made.c_str(), path_.c_str()) == 0)
                return;
        }
    }
    auto const why = errno;
    std::error_code ignored;
    fs::remove_all(made, ignored);
    if (lock_ >= 0)
        ::close(lock_);
    throw std::runtime_error{
        "private_server: no temporary folder " + made + ": " + std::strerror(why) +
        "; set TMPDIR to one that can be written"};
}

private_folder::~private_folder()
{
    std::error_code ignored;
    fs::remove_all(path_, ignored);
    ::close(lock_);
}

}  // namespace testing
}  // namespace v0_3
}  // namespace colock
