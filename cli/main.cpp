// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
// The colock command.
#include "commands.hpp"
#include "help.hpp"
#include "messages.hpp"
#include "options.hpp"
#include "status.hpp"
#include "text.hpp"

#include <cstdio>
#include <exception>
#include <string>

namespace cli {

int carry_out(options const& o, surroundings const& here)
{
    if (o.command == "run")
        return run(o, here);
    if (o.command == "elect")
        return elect(o, here);
    if (o.command == "acquire")
        return acquire(o);
    if (o.command == "release")
        return release(o);
    if (o.command == "info")
        return info(o);
    if (o.command == "ls")
        return ls(o);
    if (o.command == "watch")
        return o.web_port ? watch_web(o) : watch(o);
    if (o.command == "unlock")
        return unlock(o);
    return o.command == "doctor" ? (o.deadlocks ? deadlocks(o) : doctor(o)) : bench_load(o);
}

}  // namespace cli

int main(int argc, char** argv)
{
    cli::surroundings const here;  // before anything is opened
    cli::occupy_standard_descriptors();
    auto const asked = cli::read_options(argc, argv);
    int status = cli::status_ok;
    // A command that runs another one never waits for a slow reader.
    auto const say = asked.runs_program() ? cli::remark : cli::complain;
    try {
        status = cli::carry_out(asked, here);
    } catch (cli::failure const& f) {
        say("colock " + asked.command + ": " + f.what());
        if (f.status == cli::status_usage)
            say("Usage: " + std::string{cli::help_of(asked.command).usage});
        status = f.status;
    } catch (std::exception const& e) {
        say("colock " + asked.command + ": " + e.what());
        status = cli::status_unavailable;
    }
    bool const is_written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
    if (!is_written && status == cli::status_ok)
        status = cli::status_no;  // nobody can read what it found
    return status;
}
