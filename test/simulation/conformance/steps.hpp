// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "colock_scripts.hpp"
#include "simulation/conformance/subject.hpp"
#include "unit/random_seed.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace colock::simulation {

using test::random_numbers;

/// What a script takes: the roles of its keys and arguments for each lock, by their names, and of
/// the argument that stands once in front.
struct script_form {
    scripts::script const& what;
    std::string_view kinds;  ///< of locks
    std::string_view keys;
    std::string_view arguments;
    std::string_view front = "";
};

/// All scripts, each once.
std::vector<script_form> const& script_forms();

struct script_call {
    scripts::script const* what = nullptr;
    scripts::script const* form = what;  ///< as it publishes
    strings keys{};
    strings arguments{};

    script_form const* of = nullptr;
    std::size_t locks = 1;

    std::string describe() const;
};

/// What is made up.
enum class mood {
    wild,  ///< leases of all lengths, names of other kinds
    tame   ///< what one client of colock sends, with leases that are all as long
};

/// Makes up calls and commands on a few locks and their keys. Many in a row are of the same lock
/// and the same owner, for else hardly anybody would release what he has.
class step_maker {
public:
    explicit step_maker(random_numbers& dice, mood m = mood::wild)
        : dice_{dice}
        , is_tame_{m == mood::tame}
    {}

    /// A script's call for one to three locks; with `odd` some arguments are none that colock
    /// gives.
    script_call call(bool odd);

    /// A command that puts something by hand where scripts look, or takes it away.
    strings by_hand();

    /// By how many microseconds the clock moves: mostly not at all.
    std::int64_t pause();

    /// A channel that scripts publish to.
    std::string channel();

    /// As time passes.
    void set_clock(std::int64_t microseconds) { now_ = microseconds; }

private:
    void change_scene(bool also_kind = true);
    script_form const& form();
    std::string name();
    std::string key(std::string_view role, std::string const& name);
    std::string argument(std::string_view role, std::string const& name);
    std::string wild_time(std::string_view role);
    std::string tame_time(std::string_view role);
    std::string odd_argument(std::string_view role);
    std::string channel_of(std::string_view role, std::string const& name);
    std::string any_key();
    std::string field();
    std::string id() const;

    template <class... Texts>
    std::string one_of(Texts const&... texts)
    {
        strings const all{std::string{texts}...};
        return all[static_cast<std::size_t>(dice_.below(static_cast<int>(all.size())))];
    }
    std::string number(int least, int most)
    {
        return std::to_string(least + dice_.below(most - least + 1));
    }

    random_numbers& dice_;
    bool is_tame_;
    std::int64_t now_ = 0;
    int request_ = 10;  ///< the number of the last counted request
    std::string_view kind_ = "plain";
    std::string name_ = "plain";
    int owner_ = 1;
};

}  // namespace colock::simulation
