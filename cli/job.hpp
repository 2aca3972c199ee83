// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <csignal>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace cli {

/// The controlling terminal, if there is one: which process group it serves.
class terminal {
public:
    terminal();
    terminal(terminal const&) = delete;
    terminal& operator=(terminal const&) = delete;
    ~terminal();

    /// We have one.
    bool is_there() const noexcept { return descriptor_ >= 0; }

    /// It serves that process group; our own.
    bool serves(pid_t group) const noexcept;
    bool is_ours() const noexcept;

    /// It serves that group from now on, if it is there; also when we are in the background.
    void give(pid_t group) const noexcept;
    /// For our own group, if that group has it.
    void take_back_from(pid_t group) const noexcept;

private:
    int descriptor_;
};

/// The descriptors that were open when we began: those that a child is to inherit.
class inherited_descriptors {
public:
    inherited_descriptors();

    /// Makes all others close when a program is started.
    void close_others_on_exec() const;

private:
    std::vector<int> open_;
};

/// Takes the numbers of standard streams that are closed. Otherwise a file that we open would get
/// these descriptors, and our output would go into it. A use of such a stream gives an error, as
/// before.
void occupy_standard_descriptors();

/// How to start a program.
struct launch {
    std::vector<std::string> words;        ///< the first is found by PATH
    std::vector<std::string> environment;  ///< all of it
    sigset_t mask;
    bool ignores_children;  ///< SIGCHLD
    int death_signal;       ///< what it gets when we die; or 0
};

/// Waits for all other processes that have ended and are left to us. In the first process of a
/// container those are orphans, which would stay as zombies. \returns whether `except` has ended,
/// too.
bool reap_all_but(pid_t except) noexcept;

/// A program that runs in a process group of its own.
class job {
public:
    /// How the program has ended, or that it stands still.
    struct news {
        enum class kind { exited, killed, stopped };
        kind what;
        int number;  ///< its status, or the signal
    };

    /// Makes a process that becomes the program, in the foreground of the terminal if that is
    /// wanted. \returns the error for which there is none, or 0.
    int fork(launch const&, terminal const* foreground);

    /// After `fork`: a descriptor, for the caller to close, that ends when the program runs, and
    /// before that has the error, an `int`, for which it can't be run.
    int outcome() const noexcept { return outcome_; }

    pid_t id() const noexcept { return id_; }

    /// To the whole group. \returns 0, or the error: EPERM if it runs as another user.
    int signal(int number) const noexcept;

    /// The new state, if it has changed. Doesn't wait.
    std::optional<news> look() noexcept;

    /// Whether anybody of its group lives, also after the program itself has ended.
    bool has_members() const noexcept;

private:
    pid_t id_ = -1;
    int outcome_ = -1;
};

}  // namespace cli
