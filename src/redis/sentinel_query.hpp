#pragma once

#include "redis/connection.hpp"
#include "redis/exchange.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace colock {

/// Asks all Sentinels of the config at once where the primary is.
///
/// A Sentinel that is cut off from the others may name an old primary. So the result is the address
/// that more than half of them name, or, a moment after the first answer, the one that most of them
/// name.
class sentinel_query {
public:
    struct result {
        std::optional<address> primary{};
        bool is_by_most = false;   ///< more than half of the Sentinels name it
        bool is_agreed = false;    ///< and there are several of them
        bool is_answered = false;  ///< some Sentinel has said something, if only a refusal
        unsigned replicas = 0;     ///< of it, the most that a Sentinel knows; asked only where the
                                   ///< client wants copies
        error_code ec{};           ///< why there is none; a refusal only if all of them refuse
        std::string words{};       ///< one part for each Sentinel that gave no address
    };
    using on_result = std::function<void(result const&)>;

    sentinel_query(link_context const& context, on_result done);
    ~sentinel_query();
    sentinel_query(sentinel_query const&) = delete;
    sentinel_query& operator=(sentinel_query const&) = delete;

    /// Begins again. `done` is called on the strand, never from within this call; it may destroy
    /// this.
    void start();
    void cancel() noexcept;

private:
    class sentinel;

    void on_answer();
    void finish();
    result best() const;
    std::size_t most_named() const;

    link_context const& context_;
    on_result done_;
    std::vector<std::unique_ptr<sentinel>> asked_;
    decide::alarm_queue::alarm limit_;
    bool has_answer_ = false;
};

}  // namespace colock
