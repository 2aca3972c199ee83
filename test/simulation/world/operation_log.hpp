// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "simulation/world/dice.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace colock::simulation {

/// What users do and what servers lose, for the outside checker: test/checker/README.md. Times are
/// true ones. Each name has a register, to which its holders write.
class operation_log {
public:
    operation_log() = default;
    operation_log(operation_log const&) = delete;
    operation_log& operator=(operation_log const&) = delete;
    ~operation_log() { finish(); }

    /// Until then nothing is written.
    void write_to(std::ostream& to) noexcept { to_ = &to; }
    bool is_on() const noexcept { return to_ != nullptr; }

    /// What is still to be answered has no answer, and no more is written.
    void finish();

    struct grant {
        std::string owner{};  ///< empty: its own
        bool shared = false;
        moment asked{}, now{};
        std::optional<moment>
            admitted{};  ///< if it is known that a server granted it then or later
        std::vector<std::uint64_t> tokens{};
        std::int64_t permits = 0;
    };
    /// Returns a number for the hold. Who has a token writes to the register with it.
    std::uint64_t acquire(std::string const& name, grant const&);

    /// A hold has ended, or is about to be released. Who wrote reads the register, and writes
    /// again.
    struct end {
        moment now{};
        moment call{};  ///< it may have ended then: no later than now
        char const* why = "left";
        std::optional<moment> kept_until{};  ///< all replicas have acknowledged it until then
    };
    void leave(std::uint64_t hold, end const&);

    /// The server had it until now, when its release is answered.
    void released(std::uint64_t hold, moment now);

    void set(std::string const& name, std::int64_t permits, bool leases);
    void lose(std::string const& name, moment now, bool keeps, bool tokens_anew);

private:
    struct place {
        std::string name;
        std::uint64_t token = 0;
        end how{};
        bool is_over = false;
    };
    struct store {
        std::uint64_t highest = 0;
        std::int64_t writes = 0;
    };

    void write(std::uint64_t hold, place const&, moment now);
    void write_end(std::uint64_t hold, place const&);

    std::ostream* to_ = nullptr;
    std::uint64_t last_ = 0;
    std::map<std::uint64_t, place> places_;
    std::map<std::string, store> stores_;
};

}  // namespace colock::simulation
