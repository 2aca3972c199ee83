// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "simulation/world/recipe_file.hpp"
#include "simulation/world/run.hpp"

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>

namespace {

using namespace colock::simulation;

constexpr char const* usage = R"(colock-simulate [SCENARIO] [options]

Simulates clients and servers in virtual time, one world after the other, and judges what they do.
A rule that is broken is printed with its history, made small, and with the command that shows it
again; the exit status is then 1.

  --seed N            of the first world; the next ones count on. Drawn, unless given
  --worlds N          how many; 1 unless given
  --seconds N         instead: for so much of this machine's time
  --recipe FILE       the world that is kept in this file
  --keep FILE         writes the smallest world that breaks a rule into this file
  --mutant NAME       something is broken on purpose
  --without-machine N, --without-task N, --without-fault N
                      leaves out a part of the world
  --luck N            the same with other delays of packets
  --sections N        of each task, at most
  --length MS         of the world, in place of the scenario's
  --shrink N          runs for making a failure small; 200 unless given
  --story N           events that are printed; 60 unless given
  --histories FOLDER  writes what users do there, a file of each world, for test/checker
)";

struct order {
    std::string name = "arena";
    recipe how;
    std::uint64_t worlds = 1;
    double seconds = 0;
    mutant broken = mutant::none;
    std::string again;  ///< a file with the world
    std::string keep;   ///< a file for it
    unsigned shrinking = 200;
    std::size_t story = 60;
    std::string histories;  ///< a folder for them
};

order read(int count, char** words)
{
    order o;
    o.how.seed = std::random_device{}();
    for (int i = 1; i < count; ++i) {
        std::string const word = words[i];
        auto const next = [&]() -> std::string {
            if (++i == count)
                throw std::invalid_argument{word + " needs a value"};
            return words[i];
        };
        if (word == "--seed")
            o.how.seed = std::stoull(next());
        else if (word == "--worlds")
            o.worlds = std::stoull(next());
        else if (word == "--seconds")
            o.seconds = std::stod(next());
        else if (word == "--recipe")
            o.again = next();
        else if (word == "--keep")
            o.keep = next();
        else if (word == "--mutant")
            o.broken = mutant_named(next());
        else if (word == "--without-machine")
            o.how.without_machines.insert(std::stoi(next()));
        else if (word == "--without-task")
            o.how.without_tasks.insert(std::stoi(next()));
        else if (word == "--without-fault")
            o.how.without_faults.insert(std::stoi(next()));
        else if (word == "--luck")
            o.how.luck = std::stoull(next());
        else if (word == "--sections")
            o.how.sections = std::stoull(next());
        else if (word == "--length")
            o.how.length = std::chrono::milliseconds{std::stoll(next())};
        else if (word == "--shrink")
            o.shrinking = static_cast<unsigned>(std::stoul(next()));
        else if (word == "--story")
            o.story = std::stoull(next());
        else if (word == "--histories")
            o.histories = next();
        else if (word.starts_with("-"))
            throw std::invalid_argument{"unknown option " + word};
        else
            o.name = word;
    }
    return o;
}

int run_again(order const& o)
{
    std::ifstream file{o.again};
    auto const [plan, how] = read_recipe(file);
    auto const v = run(plan, how, o.story);
    if (v.broken_rule.empty()) {
        std::cout << o.again << ": " << v.sections << " sections, and no rule is broken"
                  << std::endl;
        return EXIT_SUCCESS;
    }
    std::cout << "BROKEN: " << v.broken_rule << "\n" << v.story << std::flush;
    return EXIT_FAILURE;
}

/// By this world's name.
std::optional<std::ofstream> history_file(order const& o, std::uint64_t seed)
{
    if (o.histories.empty())
        return std::nullopt;
    std::ofstream file{o.histories + "/" + o.name + "." + std::to_string(seed) + ".jsonl"};
    if (!file)
        throw std::runtime_error{"can't write to " + o.histories};
    return file;
}

int simulate(order const& o)
{
    using real = std::chrono::steady_clock;
    auto plan = scenario_named(o.name);
    plan.broken = o.broken;
    auto const begun = real::now();
    auto const taken = [begun] {
        return std::chrono::duration<double>(real::now() - begun).count();
    };
    std::uint64_t sections = 0, events = 0, excused = 0, worlds = 0;
    double simulated = 0;
    auto how = o.how;
    std::cout << o.name << ", seed " << how.seed << std::endl;
    for (; o.seconds > 0 ? taken() < o.seconds : worlds < o.worlds; ++worlds, ++how.seed) {
        auto operations = history_file(o, how.seed);
        auto const v = run(plan, how, o.story, operations ? &*operations : nullptr);
        sections += v.sections;
        events += v.events;
        excused += v.excused;
        simulated += std::chrono::duration<double>(v.length).count();
        if (v.broken_rule.empty())
            continue;
        std::cout << "BROKEN: " << v.broken_rule << "\n" << v.story;
        auto const small = o.shrinking == 0 ? how : shrink(plan, how, o.shrinking, std::cout);
        auto const last = run(plan, small, o.story);
        std::cout << "SMALLEST: " << last.broken_rule << "\n"
                  << last.story << "again: colock-simulate " << o.name;
        if (o.broken != mutant::none)
            std::cout << " --mutant " << name_of(o.broken);
        std::cout << " " << small.describe() << std::endl;
        if (!o.keep.empty()) {
            std::ofstream file{o.keep};
            write(file, {plan, small});
        }
        return EXIT_FAILURE;
    }
    auto const time = taken();
    std::cout << worlds << " worlds, " << simulated / 3600 << " simulated hours, " << sections
              << " sections, " << events << " events, " << excused << " excused, in " << time
              << " s: " << simulated / 60 / time << " simulated hours a minute, "
              << static_cast<double>(sections) * 60 / time << " sections a minute" << std::endl;
    return EXIT_SUCCESS;
}

}  // namespace

int main(int count, char** words)
{
    try {
        if (count > 1 && std::strcmp(words[1], "--help") == 0) {
            std::cout << usage << "scenarios:";
            for (auto const& each : scenario_names())
                std::cout << " " << each;
            std::cout << "\n";
            return EXIT_SUCCESS;
        }
        auto const o = read(count, words);
        return o.again.empty() ? simulate(o) : run_again(o);
    } catch (std::exception const& e) {
        std::cerr << e.what() << "\n";
        return 2;
    }
}
