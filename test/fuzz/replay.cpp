// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Runs each target over its kept inputs, without libFuzzer:
//
//   colock-fuzz-corpus CORPUS            all that is in CORPUS/<target>/
//   colock-fuzz-corpus CORPUS TARGET     of one target
#include "fuzz_targets.inc"  // made by CMake: all_targets

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace colock::fuzz {

namespace {

namespace files = std::filesystem;

std::string text_of(files::path const& file)
{
    std::ifstream from{file, std::ios::binary};
    return {std::istreambuf_iterator<char>{from}, {}};
}

/// The file that is run is the last line when it ends the process.
std::size_t replay(files::path const& folder, void (*run)(std::string_view))
{
    std::vector<files::path> inputs;
    if (files::is_directory(folder))
        for (auto const& each : files::directory_iterator{folder})
            inputs.push_back(each.path());
    std::ranges::sort(inputs);
    for (auto const& input : inputs) {
        std::printf("%s\n", input.c_str());
        std::fflush(stdout);
        run(text_of(input));
    }
    return inputs.size();
}

int replay_all(files::path const& corpus, std::string_view only)
{
    int failed = 0;
    std::size_t replayed = 0;
    for (auto const& target : all_targets) {
        if (!only.empty() && only != target.name)
            continue;
        auto const count = replay(corpus / target.name, target.run);
        std::printf("%s: %zu inputs\n", std::string{target.name}.c_str(), count);
        failed |= count == 0;
        ++replayed;
    }
    if (replayed == 0)
        std::fprintf(stderr, "there is no target %s\n", std::string{only}.c_str());
    return failed | (replayed == 0);
}

}  // namespace

}  // namespace colock::fuzz

int main(int argc, char** argv)
{
    if (argc != 2 && argc != 3) {
        std::fputs("colock-fuzz-corpus CORPUS [TARGET]\n", stderr);
        return 2;
    }
    try {
        return colock::fuzz::replay_all(argv[1], argc == 3 ? argv[2] : "");
    } catch (std::exception const& thrown) {
        std::fprintf(stderr, "%s\n", thrown.what());
        return 1;
    }
}
