#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace colock::decide {

/// One answer of the server, apart from the wire.
struct reply {
    enum class kind { nil, integer, text, list, error };

    kind what = kind::nil;
    std::int64_t number = 0;
    std::string text{};
    std::vector<reply> items{};

    static reply of(std::int64_t n) { return {kind::integer, n, {}, {}}; }
    static reply of(std::string_view s) { return {kind::text, 0, std::string{s}, {}}; }
    static reply of(std::vector<reply> l) { return {kind::list, 0, {}, std::move(l)}; }
    static reply error(std::string_view s) { return {kind::error, 0, std::string{s}, {}}; }
};

/// What an error reply asks of the sender.
enum class fault {
    script_missing,  ///< NOSCRIPT: send the text
    not_now,         ///< LOADING, BUSY and the like: nothing was done, ask again later
    read_only,       ///< READONLY: this server is no primary any more
    wrong_type,      ///< WRONGTYPE: the key holds something else
    passing,         ///< OOM, NOREPLICAS, MISCONF: nothing was done, and it may pass
    redirected,      ///< MOVED, ASK, TRYAGAIN and the like: see `read_redirection`
    refused          ///< all others: permission, syntax
};

fault classify(std::string_view error_text) noexcept;

/// What a node of a cluster says of a slot that is not, or not wholly, its own.
struct redirection {
    enum class kind {
        none,
        moved,      ///< the slot belongs to that node now
        ask,        ///< it is on its way there, and the keys are there already: this one step only
        try_again,  ///< it is on its way, and the keys are partly here and partly there
        cut_off,    ///< a script met a key that is not here; what it did before stays
        down        ///< the cluster does not serve the slot
    };

    kind what = kind::none;
    unsigned slot = 0;   ///< of `moved` and `ask`
    std::string host{};  ///< empty: the host of the node that says so
    std::uint16_t port = 0;
};

redirection read_redirection(std::string_view error_text);

/// Of the acquire scripts: an integer is the last fencing token of the block, a list is a refusal.
struct acquire_answer {
    enum class kind { granted, refused, malformed };

    kind what = kind::malformed;
    std::uint64_t last_token = 0;  ///< granted; 0 without fencing
    std::int64_t pttl = 0;         ///< refused: what is left of the holder's lease, -1 without TTL;
                                   ///< of a fair lock, until it is worth asking again
};

acquire_answer read_acquire(reply const&) noexcept;

/// Of the release scripts: an integer is the number of receivers, nil says that it was gone.
struct release_answer {
    enum class kind { released, gone, malformed };

    kind what = kind::malformed;
    std::int64_t receivers = 0;  ///< or one of these, and it was released all the same

    static constexpr std::int64_t refused = -1;  ///< the server refused to publish
    static constexpr std::int64_t unheard = -2;  ///< the waiter whose turn it is does not listen
};

release_answer read_release(reply const&) noexcept;

/// Of the extend scripts and of each place in a renewal.
enum class extend_answer { extended, gone, malformed };

extend_answer read_extend(reply const&) noexcept;

/// Of a fair ticket that is kept alive: zero says that it has no place, a list that it waits.
struct keep_answer {
    enum class kind { waits, gone, malformed };

    kind what = kind::malformed;
    std::int64_t ask_in = 0;  ///< waits: ms until it is worth asking, -1 if only a message can tell
};

keep_answer read_keep(reply const&) noexcept;

/// Of the inspect script: PTTL, mode, number of fields.
struct inspect_answer {
    bool well_formed = false;
    bool locked = false;
    std::int64_t pttl = -2;
    bool is_written = false;  ///< of a read-write lock
    bool is_read = false;     ///< of a read-write lock; by its writer, perhaps
};

inspect_answer read_inspect(reply const&) noexcept;

}  // namespace colock::decide
