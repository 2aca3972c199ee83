// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "bench/command.hpp"
#include <colock/durability.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace cli {

using std::chrono::milliseconds;

enum class lock_kind { lock, fair, read, write, spin, fenced };
enum class on_lost { term, kill, ignore };

/// The options of the command line, for all commands.
struct options {
    std::string command;  ///< run, info, ls…
    bool runs_program() const { return command == "run" || command == "elect"; }

    // The deployment.
    std::string url;
    std::string ca_file;
    std::string certificate_file;
    std::string private_key_file;
    std::string server_name;
    bool insecure = false;
    milliseconds connect_timeout{5'000};
    std::optional<colock::durability> durability;
    std::optional<unsigned> replicas;

    bool json = false;
    bool quiet = false;
    bool verbose = false;

    std::string key;
    std::string pattern = "*";          ///< ls, watch --web
    bool yes = false;                   ///< unlock
    std::string claim_file;             ///< acquire, release; empty: the standard streams
    bool deadlocks = false;             ///< doctor
    bool are_failovers_paused = false;  ///< doctor: the operator says so
    std::vector<std::string> urls;      ///< doctor: of the servers of a red lock

    std::optional<std::uint16_t> web_port;  ///< watch: of the page; 0 is a free one
    std::string web_address = "127.0.0.1";

    // run, elect
    std::optional<milliseconds> wait;
    std::optional<milliseconds> lease;
    milliseconds at_least{0};
    std::string words;  ///< what a leader says of itself
    lock_kind kind = lock_kind::lock;
    int conflict_status = 75;
    on_lost when_lost = on_lost::term;
    milliseconds grace{5'000};
    std::vector<std::string> program;

    bench::request load;  ///< bench
};

/// Reads the command line; passwords in it are blanked out where others see it. Exits by itself
/// after `--help` and `--version`, and after wrong usage, which it explains.
options read_options(int argc, char** argv);

}  // namespace cli
