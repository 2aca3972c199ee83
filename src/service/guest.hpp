#pragma once

#include "base/completion.hpp"
#include "decide/agenda.hpp"
#include <colock/detail/initiate.hpp>

#include <boost/intrusive/list.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>

namespace colock {

using detail::core_ptr;

class gate;

/// A call that waits at a gate, or is about to.
class guest : public operation, public boost::intrusive::list_base_hook<> {
public:
    guest(core_ptr c, std::string n);

    void cancel() override;

    /// Completes the caller, if one still waits. No error: he was not let in, and his wait is over.
    void end(error_code);

    core_ptr inside;
    std::string name;
    bool once = false;                   ///< one attempt
    std::optional<milliseconds> wait{};  ///< the longest
    time_point asked{};
    time_point deadline() const noexcept { return wait ? asked + *wait : never; }
    std::uint32_t attempts = 0;  ///< how often he was asked for
    gate* at = nullptr;          ///< where it stands in the queue
    decide::agenda::entry limit;
    std::shared_ptr<guest> queued;  ///< itself, while it stands there

    /// Destroys the handler.
    virtual void drop() noexcept = 0;

protected:
    virtual void answer(error_code) = 0;
};

/// One that is told no more than whether it was let in.
class counting_guest final : public guest {
public:
    /// To wait without end; or to try, and be told how it went.
    using result = std::variant<completion<>, completion<bool>>;

    counting_guest(core_ptr c, std::string n, std::int64_t w)
        : guest{std::move(c), std::move(n)}
        , wanted{w}
    {}

    void let_in();
    void drop() noexcept override { done = {}; }

    std::int64_t wanted;
    result done;

private:
    void answer(error_code) override;
};

}  // namespace colock
