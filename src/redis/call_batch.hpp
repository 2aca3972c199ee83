#pragma once

#include "decide/reply.hpp"
#include "redis/step_list.hpp"
#include <colock/config.hpp>

#include <boost/redis/request.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace colock {

/// The form of a script that publishes in this way.
scripts::script const& form_of(scripts::script const&, publishing) noexcept;

/// One request: calls, each of one script for several steps. Kept by the handler of its request;
/// the link forgets the steps when it goes.
struct call_batch {
    /// Locks a script call: a long one would keep the server's other clients waiting.
    static constexpr std::size_t largest_call = 128;

    struct call {
        std::size_t first;
        std::size_t count;
        bool whole = false;     ///< the reply is one step's, as it is
        std::size_t place = 0;  ///< of the reply
    };

    /// How calls are written.
    struct manner {
        std::string_view floor;  ///< the link's
        bool as_text = false;    ///< for a server that refuses to load scripts
        bool by_slot = false;    ///< for one that refuses calls for keys of several slots
        publishing publish = publishing::plain;
    };

    /// Takes in all steps and writes their calls.
    void fill(step_list& from, manner how);

    /// What the replicas lack of what the step wants; no error if nothing.
    error_code unsynced(step const&) const noexcept;

    /// The part of one step in a call's reply; the whole, if it is an error.
    decide::reply reply_of(std::size_t call, std::size_t i);

    boost::redis::request request;
    std::shared_ptr<std::vector<decide::reply>> replies =
        std::make_shared<std::vector<decide::reply>>();
    std::vector<call> calls;
    std::vector<step*> steps;
    time_point sent;

private:
    bool waits_ = false;  ///< the last reply is that of WAIT
    void arrange(step_list& from, bool by_slot);
    std::size_t alike(std::size_t at, bool by_slot) const;
    void write(std::span<step* const>, manner const& how);
    void write_wait();

    std::vector<std::string_view> words_;
};

}  // namespace colock
