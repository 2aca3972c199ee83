// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <stdexcept>
#include <string>

namespace cli {

/// The exit statuses of the command, beside the status of CMD. The numbers are those of sysexits.h
/// where it has one, and a shell's own for what can't be run.
enum status : int {
    status_ok = 0,
    status_no = 1,                ///< doctor found something bad; unlock released nothing
    status_may_lose = 2,          ///< doctor: a failover loses no lock by one fault
    status_loses = 3,             ///< doctor: a failover can lose a lock
    status_usage = 64,            ///< wrong usage
    status_no_lock = 65,          ///< the key holds something that is no lock
    status_unavailable = 69,      ///< no connection
    status_lost = 70,             ///< the lock was lost, and the command was ended for it
    status_cannot_use_file = 74,  ///< the file of a claim can't be read or written
    status_conflict = 75,         ///< somebody else had the lock until the wait was over
    status_refused = 77,          ///< Redis refuses us
    status_cannot_run = 126,      ///< the command can't be run
    status_not_found = 127,       ///< there is no such command
    status_signal = 128           ///< and the signal's number
};

/// Ends the command: what to say, which names the lock, the operation, the cause and what can be
/// done, and what to exit with.
struct failure : std::runtime_error {
    failure(int s, std::string const& text) : std::runtime_error{text}, status{s} {}
    int status;
};

}  // namespace cli
