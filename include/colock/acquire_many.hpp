// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/client.hpp>
#include <colock/detail/initiate.hpp>
#include <colock/hold.hpp>
#include <colock/options.hpp>

#include <boost/asio/any_completion_handler.hpp>
#include <boost/asio/deferred.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace colock {
inline namespace v0_3 {

class held_locks;

/// Which of the locks `acquire_many` takes.
enum class many : unsigned char {
    all,  ///< all of them or none; waits for those that somebody else has
    free  ///< those that nobody has; never waits
};

/// How `acquire_many` takes its locks.
struct acquire_many_options {
    many take = many::all;

    /// With `many::all`: how long it waits at most. None: for as long as it takes. 0: it asks once.
    std::optional<std::chrono::milliseconds> wait{};

    /// How each of the locks is held. They have one owner.
    acquire_options with{};
};

namespace detail {

using acquired_many = void(error_code, held_locks);

/// The holds that one release has.
struct many_holds {
    std::vector<hold> holds;
};
short_name name_of(std::shared_ptr<many_holds> const& of, auto const&...)
{
    auto const& all = of->holds;
    return all.empty() ? short_name{} : name_of_many(all.front().name(), all.size());
}

void acquire_many(
    core_ptr, handler<acquired_many>, std::vector<std::string> names, acquire_many_options
);

}  // namespace detail

/// Most names of one `acquire_many`.
inline constexpr std::size_t most_names = 16'384;

/// The result of `acquire_many`: a hold for each name, in the order of the names.
///
/// Move-only. Each hold is an ordinary one: it is renewed, lost and released by itself, and may be
/// moved out. Destroying this destroys the holds, which are then released in the background. Not
/// thread-safe.
class [[nodiscard]] held_locks {
public:
    held_locks() = default;

    /// \pre They are of one client.
    explicit held_locks(std::vector<hold> all) noexcept : all_{std::move(all)} {}

    /// The number of names; 0 if nothing was taken.
    std::size_t size() const noexcept { return all_.size(); }
    bool empty() const noexcept { return all_.empty(); }

    /// How many of the locks are held now.
    std::size_t held() const noexcept;

    /// The hold for a name by its place; empty if somebody else has that lock.
    /// \pre i < size()
    hold& operator[](std::size_t i) noexcept { return all_[i]; }
    hold const& operator[](std::size_t i) const noexcept { return all_[i]; }

    auto begin() noexcept { return all_.begin(); }
    auto end() noexcept { return all_.end(); }
    auto begin() const noexcept { return all_.begin(); }
    auto end() const noexcept { return all_.end(); }

    /// Releases all holds that are here, and is empty from the call on.
    ///
    /// \par Effects
    ///   The effects of `hold::release` for all, some of them after the others: one script call for
    ///   up to 128. Until it completes, another call of the client may find one still held; and if
    ///   the client closes meanwhile, it is the close that releases the rest.
    /// \par Completion signature
    ///   `void(error_code)`
    /// \par Completes when
    ///   All have been answered.
    /// \par Errors
    ///   The errors of `hold::release`; `error::lost` if one of them was lost, otherwise the first
    ///   error. It releases the others nevertheless.
    /// \par Cancellation
    ///   terminal, partial, total. Ends the wait for the answers; the releases go on.
    template <detail::token_for<detail::finished> Token = detail::default_token>
    auto release(Token&& token = {})
    {
        auto const where = first_client();
        auto const taken = take();
        try {
            return detail::initiate<detail::finished>(
                "release", where, &release_all, std::forward<Token>(token), taken
            );
        } catch (...) {
            all_ = std::move(taken->holds);  // the token has refused to begin: nothing was sent
            throw;
        }
    }

private:
    /// Copyable, because a deferred operation is; the first call has them.
    using shared_holds = std::shared_ptr<detail::many_holds>;

    detail::core_ptr first_client() const noexcept;
    shared_holds take()
    {
        return std::make_shared<detail::many_holds>(detail::many_holds{std::exchange(all_, {})});
    }
    static void release_all(detail::core_ptr, detail::handler<detail::finished>, shared_holds);

    std::vector<hold> all_;
};

/// Acquires a lock for each name: an order with all its items, or as many free jobs as there are.
///
/// The locks are those of `lock`: Java sees a plain RLock for each name.
///
/// \par Effects
///   Asks for all names at once, in script calls of up to 128; in a cluster each has the names of
///   one slot. `many::free` is over then: it gives a hold for each name that no other owner
///   has. `many::all` goes on as `multi_lock` does: if some names are refused, it takes them one
///   after the other, in an order that is the same for all, so that two calls never wait for each
///   other. When it has waited for long (1.5 to 3 s for each name, all added up; twice that the
///   next time), it gives back what it has, and begins again.
/// \par Guarantees
///   At least half of each hold's validity is left. `many::all` gives a hold for each name, or, if
///   `acquire_many_options::wait` is over and somebody else has one of the locks, none: then the
///   result is empty. The holds have one owner. After an error nothing is held, unless a server is
///   silent for `config::timeout`, the wait is over, the client closes, or the call was cancelled:
///   then what may have been granted is released in the background.
/// \par Completion signature
///   `void(error_code, held_locks)`
/// \par Errors
///   - `error::invalid_argument` — no name, more than `most_names`, a name twice, or one that
///     `lock` refuses; a wait below 0, or any with `many::free`; options that `multi_lock` refuses.
///     Nothing was sent.
///   - the first error of one of the locks, as of `lock::acquire`, and with `many::free` or a wait
///     as of `lock::try_acquire`: so one node of a cluster that can't be reached fails all.
///   - `error::lost` — with `many::free`: a lock was lost while another was still asked for.
/// \par Cancellation
///   terminal, partial, total. Completes at once with `operation_aborted`, and leaves nothing of
///   any name behind.
///
/// Executor, thread-safety and lifetimes are as for `lock`.
template <class Options = acquire_many_options, class Token = detail::default_token>
    requires detail::call_for<Options, Token, acquire_many_options, detail::acquired_many>
auto acquire_many(
    client const& where, std::vector<std::string> names, Options&& options = {}, Token&& token = {}
)
{
    return detail::initiate_call<detail::acquired_many, acquire_many_options>(
        "acquire_many",
        detail::core_of(where),
        &detail::acquire_many,
        std::forward<Options>(options),
        std::forward<Token>(token),
        std::move(names)
    );
}

}  // namespace v0_3
}  // namespace colock
