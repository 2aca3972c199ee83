#pragma once

#include "decide/number.hpp"
#include <colock/admin/reply.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colock::decide {

using admin::reply;

/// The number that an integer or a text is.
template <class Number>
std::optional<Number> number_of(reply const& r) noexcept
{
    if (r.what == reply::kind::integer)
        return static_cast<Number>(r.number);
    return r.what == reply::kind::text ? number_of<Number>(std::string_view{r.text}) : std::nullopt;
}

/// The sender's reaction to an error reply.
enum class fault {
    script_missing,  ///< NOSCRIPT: send the text
    not_now,         ///< LOADING, BUSY and the like: nothing was done, ask again later
    read_only,       ///< READONLY: this server is no longer a primary
    wrong_type,      ///< WRONGTYPE: the key holds something else
    passing,         ///< OOM, NOREPLICAS, MISCONF: nothing was done, and it may pass
    redirected,      ///< MOVED, ASK, TRYAGAIN and the like: see `read_redirection`
    refused          ///< all others: permission, syntax
};

fault classify(std::string_view error_text) noexcept;

/// A cluster node's answer about a slot that is not, or not wholly, its own.
struct redirection {
    enum class kind {
        none,
        moved,      ///< the slot belongs to that node now
        ask,        ///< it is moving there, and the keys are there already: for this step only
        try_again,  ///< it is moving, with some keys here and some there
        cut_off,    ///< a script met a key that is not here; its earlier effects stay
        down        ///< the cluster does not serve the slot
    };

    kind what = kind::none;
    unsigned slot = 0;   ///< of `moved` and `ask`
    std::string host{};  ///< empty: the host of the answering node
    std::uint16_t port = 0;
};

redirection read_redirection(std::string_view error_text);

/// Reply of the acquire scripts: an integer is the last fencing token of the block, below zero if
/// there is only one though more were asked for; a list is a refusal.
struct acquire_answer {
    enum class kind { granted, refused, malformed };

    kind what = kind::malformed;
    std::uint64_t last_token = 0;  ///< granted; 0 without fencing
    std::int64_t pttl = 0;         ///< refused: ms until something changes of which no message
                            ///< tells, such as the end of the holder's lease; -1: nothing does
    std::int64_t since = 0;     ///< refused: the server's time since which the request is listed
    bool stands = false;        ///< refused: it stands in the wait list
    bool is_first = false;      ///< refused: it is the first there
    bool is_foreign = false;    ///< refused: the holder's release may not tell that list
    bool is_one_token = false;  ///< granted: however many were asked for
    bool is_absent = false;     ///< refused: the semaphore does not exist
    /// Of a semaphore, if there are others than its caller has said: how many.
    std::optional<std::int64_t> permits{};
};

/// `may_be_one`: more than one token was asked for. Otherwise a number below zero is malformed: it
/// comes from a counter of Redisson's that somebody has set so low.
acquire_answer read_acquire(reply const&, bool may_be_one = false) noexcept;

/// Reply of the scripts that take permits: 1, or with a minus sign how many there are, or a
/// refusal. Nobody can see from a semaphore who has its permits, so the holder counts as foreign.
acquire_answer read_permit(reply const&) noexcept;

/// Reply of the release scripts: an integer is the number of receivers, nil says that it was gone.
struct release_answer {
    enum class kind { released, gone, malformed };

    kind what = kind::malformed;
    std::int64_t receivers = 0;  ///< or one of these; it was released then, too
    bool told = false;           ///< somebody of the wait list has the turn
    std::int64_t since = 0;      ///< this client stands there now, since that time of the server

    static constexpr std::int64_t refused = -1;  ///< the server refused to publish
    static constexpr std::int64_t unheard = -2;  ///< the next waiter has no subscriber
    /// The same, of a release that had nothing: then it is `gone`.
    static constexpr std::int64_t gone_unheard = -3;
};

release_answer read_release(reply const&) noexcept;

/// A refusal: a number; since when the request stands in the wait list, else zero; what else it
/// says of the list, else zero; and a last number, else zero.
struct refusal_answer {
    bool well_formed = false;
    std::int64_t number = 0;
    std::int64_t since = 0;
    std::int64_t list = 0;
    std::int64_t last = 0;
};

/// `most`: so many numbers it has at most.
refusal_answer read_refusal(reply const&, std::size_t most = 3) noexcept;

/// Reply of the extend scripts, and of each place in a renewal.
enum class extend_answer { extended, gone, malformed };

extend_answer read_extend(reply const&) noexcept;

/// The part of the answer to a call of many parts that is about one of them; none without an
/// answer, or if it does not tell. A single 1 is the answer about all.
reply const* part_of(reply const* answer, std::size_t parts, std::size_t place) noexcept;

bool is_extended(reply const* part) noexcept;

/// Reply for the heartbeat of a fair ticket: zero says that it has no place, a list that it waits.
struct keep_answer {
    enum class kind { waits, gone, malformed };

    kind what = kind::malformed;
    std::int64_t ask_in = 0;  ///< waits: ms until it is worth asking, -1 if only a message can tell
};

keep_answer read_keep(reply const&) noexcept;

/// Reply of the inspect script: PTTL, mode, number of fields.
struct inspect_answer {
    bool well_formed = false;
    bool locked = false;
    std::int64_t pttl = -2;
    bool is_written = false;  ///< of a read-write lock
    bool is_read = false;     ///< of a read-write lock, perhaps by its writer
};

inspect_answer read_inspect(reply const&) noexcept;

}  // namespace colock::decide
