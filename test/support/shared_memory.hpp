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

/// Native integers that several processes share: a file in memory. All are 0 at first.
class shared_numbers {
public:
    /// Opens or makes the file.
    shared_numbers(std::string const& file, std::size_t count);

    int get(std::size_t which) const;
    void set(std::size_t which, int value);

    /// The value before.
    int add(std::size_t which, int by);

    std::size_t size() const noexcept { return count_; }

private:
    std::size_t count_;
    shared_memory memory_;
    int* numbers_;
};

/// An empty file that lives as long as this.
class temporary_file {
public:
    temporary_file();
    temporary_file(temporary_file const&) = delete;
    temporary_file& operator=(temporary_file const&) = delete;
    ~temporary_file();

    std::string const& path() const noexcept { return path_; }

private:
    std::string path_;
};

/// A folder in memory, where there is such a thing: who writes to it never waits for a disk. It
/// goes with this object.
class temporary_folder {
public:
    temporary_folder();
    temporary_folder(temporary_folder const&) = delete;
    temporary_folder& operator=(temporary_folder const&) = delete;
    ~temporary_folder();

    std::string const& path() const noexcept { return path_; }

private:
    std::string path_;
};

}  // namespace colock::test
