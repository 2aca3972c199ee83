#pragma once

#include "decide/copies.hpp"
#include "decide/reply.hpp"
#include "decide/time.hpp"
#include <colock/detail/failure.hpp>
#include <colock/error.hpp>

namespace colock {

using detail::failure;

/// The outcome of a step that was handed to the transport.
struct answer {
    enum class kind {
        replied,   ///< `value` is the server's reply
        lost,      ///< it was written, then the connection was lost: it may have run
        not_now,   ///< the server refused for the moment; nothing was done
        failed,    ///< the server refused, or nothing can be sent: `ec` says why
        withdrawn  ///< it was taken back before it was written
    };

    kind what = kind::withdrawn;
    decide::reply value{};
    failure ec{};
    decide::time_point sent{};  ///< just before it was written: validity begins there
    bool passing = false;   ///< failed because memory, replicas or disk are missing, which may pass
    failure unsynced{};     ///< replied, and too few copies have it: why
    decide::copies has{};   ///< replied: those that have it for sure
    unsigned replicas = 0;  ///< that have acknowledged it
};

}  // namespace colock
