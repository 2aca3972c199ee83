#pragma once

#include "base/strand_task.hpp"
#include "core/core.hpp"
#include "core/reliable.hpp"
#include "decide/open_request.hpp"
#include "redis/transport.hpp"

#include <cstdint>
#include <type_traits>
#include <utility>

namespace colock {

/// Asks the server on behalf of those who wait, for the first of a queue or for one waiter alone,
/// with one step at a time, until nobody wants anything any more. `contend` is the loop of all
/// contenders.
class contender {
public:
    /// `number`: of its first request, if that is known.
    explicit contender(core& inside, std::uint64_t number = 0) noexcept
        : request_{number}
        , sending_{inside}
    {}
    contender(contender const&) = delete;
    contender& operator=(contender const&) = delete;

    /// It has begun, and has not ended.
    bool is_contending() const noexcept { return contending_; }

    /// The answer to its step is awaited.
    bool is_sending() const noexcept { return bool{sending_}; }

    /// The reason to sleep may be over.
    void wake() { wake_.set(true); }

    // ---- For `contend`, unless the contender has its own ----------------------------------------

    bool has_to_wait() const noexcept { return false; }
    void get_up() const noexcept {}

protected:
    ~contender() = default;

    bool is_asleep() const noexcept { return wake_.is_awaited(); }

    /// The number of its request, which begins if there is none.
    std::uint64_t ensure_number()
    {
        if (request_.number() == 0)
            request_.begin(sending_.inside().next_number());
        return request_.number();
    }

    decide::open_request request_;  ///< what it asks for, or what that may have left
    reliable sending_;
    event<bool> wake_;
    bool contending_ = false;

    template <class Contender, class... Args>
    friend strand_task contend(Args...);
};

/// Each pass of the loop asks the server once, or sleeps before that. The contender is made of the
/// arguments and ends with the loop, or it is a reference. It has
///
/// - `is_wanted()`: there is something to ask for, or to give back, after it has done all that
/// needs
///   no script;
/// - `has_to_wait()`: it sleeps before it asks;
/// - `attempt`: a script with the texts that it refers to, made of the contender just before it is
///   sent. Its step is `call`; its `terms` say when that is sent again;
/// - `judge(attempt, answer)`: does what follows from the answer. True if it sleeps then;
/// - `get_up()`: its sleep is over;
/// - `end()`: the loop is over. May destroy the contender.
template <class Contender, class... Args>
strand_task contend(Args... args)
{
    Contender by(std::move(args)...);
    core::activity const contending{by.sending_.inside()};
    by.contending_ = true;
    while (by.is_wanted()) {
        bool sleeps = by.has_to_wait();
        if (!sleeps) {
            typename std::remove_reference_t<Contender>::attempt now{by};
            by.wake_.reset();
            answer got = co_await by.sending_.send(now.call, now.terms.until);
            sleeps = by.judge(now, got);
            if (!sleeps && by.is_wanted())
                co_await by.sending_.repeats(got, now.terms);
        }
        if (sleeps) {
            co_await by.wake_;
            by.get_up();
        }
    }
    by.end();
}

}  // namespace colock
