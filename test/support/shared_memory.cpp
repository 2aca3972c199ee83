// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "support/shared_memory.hpp"

#include <cerrno>
#include <fcntl.h>
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

}  // namespace colock::test
