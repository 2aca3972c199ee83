// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace colock::test {

enum class what : std::uint8_t {
    asked,         ///< a task wants the lock
    got,           ///< and has it
    failed,        ///< or not: an error, its time was up, it was cancelled
    used,          ///< wrote to the register, its hold having said that it is valid
    told,          ///< was told that the hold is lost
    left,          ///< is about to release
    released,      ///< the release has been answered
    killed,        ///< a process is no more
    stopped,       ///< a process is about to be stopped
    resumed,       ///< and is about to go on
    fault_begins,  ///< from now on nobody need be served
    fault_is_over,
    stood_still,  ///< a process was given no time to run
    taken,        ///< the server has lost what it had granted, sometime between two moments
    refused       ///< the server refused requests with errors, between two moments
};

/// The key of an event that is about all of them.
inline constexpr auto every_key = static_cast<std::uint32_t>(-1);

/// One line of a history, as all processes write them: of fixed size, so that one `write` appends
/// all of it or nothing, also of a process that is killed. Times are those of the steady clock of
/// this machine, in nanoseconds.
struct event {
    std::int64_t at = 0;
    what kind{};
    bool shared = false;    ///< of a reader
    bool accepted = false;  ///< used: the register took the write
    bool well = false;      ///< released: the server had it; failed: it was cancelled
    std::uint32_t process = 0;
    std::uint32_t key = 0;
    std::uint32_t attempt = 0;  ///< what belongs together within the process; from 1
    std::uint64_t token = 0;    ///< of a hold; 0 if it has none
    /// As the hold says; 0 if it doesn't. Of stood_still, taken and refused: since when.
    std::int64_t valid_until = 0;
    std::int64_t order = 0;  ///< used: the how-manyth accepted write to the key's register
};

static_assert(sizeof(event) == 48);

/// Appends to a file of its own.
class history_writer {
public:
    explicit history_writer(std::string const& file);
    history_writer(history_writer const&) = delete;
    history_writer& operator=(history_writer const&) = delete;
    ~history_writer();

    void add(event const&);

private:
    int file_;
};

/// All of some files, in the order of time. An event that was cut off at the end is left out.
/// \throws std::runtime_error for a file that can't be read.
std::vector<event> read_history(std::vector<std::string> const& files);

std::string to_string(event const&);

}  // namespace colock::test
