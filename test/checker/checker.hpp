// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
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

/// `valid_until` of what has no lease.
inline constexpr auto no_lease = std::numeric_limits<std::int64_t>::max();

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
    std::int64_t done = 0;   ///< used: when the register had answered
};

static_assert(sizeof(event) == 56);

/// The server has admitted this hold after that, as its validity says; 0: isn't known.
constexpr std::int64_t admitted_after(event const& got, std::int64_t lease) noexcept
{
    bool const is_known = got.valid_until != 0 && got.valid_until != no_lease;
    return is_known ? std::max<std::int64_t>(0, got.valid_until - lease) : 0;
}

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

/// How the last one who had a lock came to have it no more.
enum class ending : std::uint8_t { released, lost, killed };

/// What a history shows. It knows nothing of colock: only what processes say that they did.
struct findings {
    std::int64_t sections = 0;            ///< holds
    std::int64_t failures = 0;            ///< attempts without one
    std::int64_t errors = 0;              ///< of them, those that nobody had cancelled
    std::int64_t errors_of_refusals = 0;  ///< the same while the server refused requests
    std::int64_t told = 0;                ///< holds that were told of their loss

    /// Somebody got in while another hold was valid by its own word: see judge_protection.
    std::int64_t violations = 0;
    /// The same where the server had lost what it had granted one of them.
    std::int64_t violations_of_taken = 0;
    /// Holds whose validity was over when they were noted as got.
    std::int64_t in_vain = 0;
    /// Of them, those whose process ran all the time and whose key was not taken away.
    std::int64_t in_vain_for_no_reason = 0;

    /// Somebody got in while another was inside, had not been told of a loss and was running.
    std::int64_t overlaps = 0;
    /// The same where the other's process was stopped, or given no time to run, until it was told:
    /// it could not be before.
    std::int64_t overlaps_of_stopped = 0;
    /// How long after that the first was told or left at most, but for the stopped and without the
    /// time in which its process stood still, in nanoseconds.
    std::int64_t longest_overlap = 0;
    /// Writes that the register took of a hold though one that was admitted later has written
    /// before. Later, for sure: its request was sent after the other had been got.
    std::int64_t stale_writes = 0;
    std::int64_t writes = 0, refused_writes = 0;
    /// Refused writes of processes that ran: nothing came between the question whether the hold is
    /// valid and the write.
    std::int64_t refused_writes_of_running = 0;
    /// Tokens that are not above all those of holds that were admitted before, for sure; or that
    /// two holds have.
    std::int64_t tokens_not_rising = 0;
    /// Tokens that are not above all those of holds that were over when it was got: nothing but
    /// rising where nobody is let in beside another.
    std::int64_t tokens_out_of_turn = 0;
    /// Uses by a hold that called itself valid, after the moment to which it had called itself so.
    std::int64_t used_after_validity = 0;
    /// Uses after the process had been stopped for longer than the lease.
    std::int64_t used_after_stop = 0;
    std::int64_t long_stops = 0;
    /// Holds that were told of their loss when their process ran again after such a stop.
    std::int64_t told_after_stop = 0;
    /// Holds whose process ran again after such a stop, and those of them that were neither told
    /// nor given up soon after.
    std::int64_t slept_through = 0, unaware_after_stop = 0;
    /// The longest that a process was given no time to run, but for stops, in nanoseconds.
    std::int64_t longest_standstill = 0;
    /// Attempts without an end, of processes that were not killed.
    std::int64_t hung = 0;
    /// Events that don't fit together.
    std::int64_t malformed = 0;

    /// The longest that an attempt took which nobody cancelled, in nanoseconds.
    std::int64_t longest_attempt = 0;
    std::int64_t longest_queued_attempt = 0;  ///< the same where who waits has a place
    /// The longest that a lock was wanted and nobody had it, in nanoseconds, by what became of
    /// the holder before. Time before a fault was over doesn't count.
    std::array<std::int64_t, 3> longest_wait{};
    /// The same of the keys where who waits has a place.
    std::array<std::int64_t, 3> longest_queued_wait{};

    std::vector<std::string> examples;  ///< of what is wrong, the first few

    /// Adds one to that count of what is wrong.
    void complain(std::int64_t& count, std::string const& example);

    std::int64_t& wait_after(ending e) { return longest_wait[static_cast<std::size_t>(e)]; }
    std::int64_t& queued_wait_after(ending e)
    {
        return longest_queued_wait[static_cast<std::size_t>(e)];
    }

    /// What may never be, whatever the servers go through.
    std::int64_t never() const
    {
        return violations + in_vain_for_no_reason + stale_writes + tokens_not_rising +
            used_after_validity + used_after_stop + unaware_after_stop + hung + malformed;
    }
};

/// \param lease in nanoseconds
/// \param queues the keys where who waits has a place, which others have to pass when he dies: then
///   a wait is counted anew from there
findings check(std::vector<event> const&, std::int64_t lease, std::set<std::uint32_t> queues = {});

/// On one line.
std::string to_string(findings const&);

}  // namespace colock::test
