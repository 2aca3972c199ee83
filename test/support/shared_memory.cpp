// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "support/shared_memory.hpp"

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <sys/mman.h>
#include <system_error>
#include <unistd.h>

namespace colock::test {

shared_memory::shared_memory(std::string const& file, std::size_t size) : size_{size}
{
    int const fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    bool const sized = fd >= 0 && ::ftruncate(fd, static_cast<off_t>(size)) == 0;
    at_ = sized ? ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
    int const why = errno;
    if (fd >= 0)
        ::close(fd);
    if (at_ == MAP_FAILED)
        throw std::system_error{why, std::generic_category(), "shared_memory " + file};
}

shared_memory::~shared_memory() { ::munmap(at_, size_); }

shared_numbers::shared_numbers(std::string const& file, std::size_t count)
    : count_{count}
    , memory_{file, sizeof(int) * count}
    , numbers_{static_cast<int*>(memory_.at())}
{}

int shared_numbers::get(std::size_t which) const { return std::atomic_ref{numbers_[which]}.load(); }

void shared_numbers::set(std::size_t which, int value)
{
    std::atomic_ref{numbers_[which]}.store(value);
}

int shared_numbers::add(std::size_t which, int by)
{
    return std::atomic_ref{numbers_[which]}.fetch_add(by);
}

namespace {

std::string name_in_memory()
{
    std::filesystem::path const memory{"/dev/shm"};
    auto const where =
        ::access(memory.c_str(), W_OK) == 0 ? memory : std::filesystem::temp_directory_path();
    return (where / "colock-shared-XXXXXX").string();
}

}  // namespace

temporary_file::temporary_file() : path_{name_in_memory()}
{
    int const fd = ::mkstemp(path_.data());
    if (fd < 0)
        throw std::system_error{errno, std::generic_category(), "temporary_file"};
    ::close(fd);
}

temporary_file::~temporary_file() { ::unlink(path_.c_str()); }

temporary_folder::temporary_folder() : path_{name_in_memory()}
{
    if (!::mkdtemp(path_.data()))
        throw std::system_error{errno, std::generic_category(), "temporary_folder"};
}

temporary_folder::~temporary_folder()
{
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

}  // namespace colock::test
