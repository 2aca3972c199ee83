#pragma once

#include "base/completion.hpp"
#include "base/sequence.hpp"
#include "decide/agenda.hpp"
#include "service/core.hpp"
#include "service/pause.hpp"
#include <colock/multi_lock.hpp>

#include <boost/asio/cancellation_signal.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <variant>
#include <vector>

namespace colock {

using detail::lock_group;

/// An acquire of several locks as one. Runs on the strand of the first lock's client; the parts are
/// acquired as a user would.
class gathering final : public operation {
public:
    using result = std::variant<completion<hold>, completion<std::optional<hold>>>;

    gathering(core_ptr inside, lock_group of, acquire_options options);

    void cancel() override;

    /// Takes them, all together or by majority. The caller has set what follows.
    void start();

    result done;
    bool once = false;
    std::optional<milliseconds> wait{};

private:
    struct request {
        asio::cancellation_signal signal;
        std::optional<hold> got;
        error_code ec;
        bool answered = true;
    };

    sequence take_all();
    sequence take_most();

    void ask_all();
    void ask_in_turn(std::size_t i);
    void extend_all();
    template <class Start>
    void ask(std::size_t i, Start start);
    void take_in(std::size_t i, error_code ec, std::optional<hold> got);
    void cancel_unanswered();
    void give_back();

    std::vector<std::size_t> in_order() const;
    std::size_t count_got() const noexcept;
    std::size_t count_failed(bool (*as)(error_code) noexcept) const noexcept;
    error_code first_error() const noexcept;
    std::optional<milliseconds> time_left() const noexcept;
    bool is_over() const noexcept;
    milliseconds pause_before_next();
    milliseconds server_limit() const noexcept;
    bool has_quorum() const noexcept;

    void grant();
    void fail(error_code);

    core_ptr inside_;
    lock_group of_;
    acquire_options options_;
    std::unique_ptr<request[]> requests_;
    std::size_t unanswered_ = 0;
    event<bool> round_over_;
    time_point deadline_ = never;
    decide::agenda::entry limit_;  ///< of the caller, or for the servers' answers
    pause pause_;
    bool cancelled_ = false;
};

}  // namespace colock
