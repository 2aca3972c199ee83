// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "diagnosis.hpp"
#include "session.hpp"
#include "verdict.hpp"

#include <string>

namespace cli {

/// Asks a primary, its replicas and its Sentinels what the verdict of `colock doctor` needs.
asio::awaitable<failover_facts> ask_for_failovers(
    session&, options const&, colock::config const&, std::string key, std::string place
);

/// The finding of one condition.
finding judge_condition(failover_condition const&);

/// In words: "no", or "yes, because …".
std::string said_of(failover_verdict const&);

/// For programs: "no", "not by one fault", "yes".
char const* word_of(failover_verdict::loss) noexcept;

}  // namespace cli
