// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "simulation/commands/command.hpp"
#include "simulation/lua/sandbox.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

struct lua_State;

namespace colock::simulation {

/// Runs scripts in one Lua state, each compiled when it is first seen.
class engine {
public:
    engine();
    engine(engine const&) = delete;
    engine& operator=(engine const&) = delete;
    ~engine();

    reply run(std::string_view text, words keys, words arguments, workspace& on);

private:
    struct closer {
        void operator()(lua_State*) const;
    };

    /// A script's end and its length tell scripts apart well enough, and are quick to look at.
    struct hasher {
        using is_transparent = void;
        std::size_t operator()(std::string_view text) const noexcept
        {
            auto const end = text.substr(text.size() - std::min<std::size_t>(text.size(), 64));
            return std::hash<std::string_view>{}(end) ^ text.size();
        }
    };

    static int call(lua_State*);
    static int pcall(lua_State*);

    /// Pushes the reply to what the script calls; false if it is an error.
    bool run_command() noexcept;
    outcome run_words();

    bool push_script(std::string_view text);
    void set_words(char const* name, words);
    reply read_error(std::string_view text);

    std::unique_ptr<lua_State, closer> lua_;
    sandbox sandbox_;
    std::unordered_map<std::string, int, hasher, std::equal_to<>> compiled_;
    workspace* on_ = nullptr;
    std::vector<std::string_view> words_;
    std::vector<std::string> numbers_;  ///< of words that the script gives as numbers
};

}  // namespace colock::simulation
