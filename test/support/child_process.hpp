// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <chrono>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace colock::test {

/// A program that runs beside the test, in a process group of its own. It is killed with this
/// object, so also after a test that failed, and by the kernel when the test program dies.
class child_process {
public:
    child_process() noexcept = default;

    /// Starts `command`, found by its path; what it prints goes behind what is in the file
    /// `output`. To be called on a thread that lives as long as the child: the kernel takes the end
    /// of that thread for the parent's.
    child_process(std::vector<std::string> const& command, std::string const& output);

    /// One whose standard input and output are `talk`, a socket; what it says to standard error
    /// goes to the file.
    child_process(std::vector<std::string> const& command, std::string const& output, int talk);

    child_process(child_process&& other) noexcept
        : id_{std::exchange(other.id_, -1)}
        , status_{other.status_}
    {}
    child_process& operator=(child_process&& other) noexcept;
    ~child_process() { kill(); }

    pid_t id() const noexcept { return id_; }

    /// False once it has ended, which this notices.
    bool is_running() noexcept;

    /// Waits for its end; false if it still runs then.
    bool wait(std::chrono::milliseconds longest) noexcept;

    /// It has ended by itself, and says that all went well.
    bool has_succeeded() const noexcept { return id_ < 0 && status_ == 0; }

    /// To the whole group.
    void signal(int number) noexcept;

    /// Ends it at once and waits for that.
    void kill() noexcept;

private:
    pid_t id_ = -1;
    int status_ = -1;  ///< as waitpid gives it
};

}  // namespace colock::test
