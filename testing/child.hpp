#pragma once

#include <string>
#include <sys/types.h>
#include <vector>

namespace colock::testing {

/// A program that runs beside the test, in a process group of its own; killed with this object,
/// and by the kernel with the process.
class child {
public:
    child() noexcept = default;

    /// Starts `command`, whose first word is a path; what it prints goes to the file `output`.
    child(std::vector<std::string> const& command, std::string const& output);
    child(child const&) = delete;
    child& operator=(child const&) = delete;
    child& operator=(child&& other) noexcept;
    ~child() { kill(); }

    /// False once it has ended, which this notices.
    bool is_running() noexcept;
    void signal(int number) noexcept;

    /// Ends it at once, and waits for that.
    void kill() noexcept;

private:
    pid_t id_ = -1;
};

/// Where PATH has this program; empty if nowhere.
std::string find_program(std::string const& name);

}  // namespace colock::testing
