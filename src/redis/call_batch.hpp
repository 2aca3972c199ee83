#pragma once

#include "decide/reply.hpp"
#include "redis/transport.hpp"

#include <boost/redis/request.hpp>

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace colock {

using step_list = boost::intrusive::list<step>;

/// One request: calls, each of one script for several steps. Kept by the handler of its request;
/// the link forgets the steps when it goes.
struct call_batch {
    /// Locks a script call: a long one would keep the server's other clients waiting.
    static constexpr std::size_t largest_call = 128;

    struct call {
        std::size_t first;
        std::size_t count;
        bool whole = false;  ///< the reply is one step's, as it is
    };

    /// Takes in all steps and writes their calls. `floor` is the link's; `as_text` for a server
    /// that refuses to load scripts.
    void fill(step_list& from, std::string_view floor, bool as_text);

    /// The part of one step in a call's reply; the whole, if it is an error.
    decide::reply reply_of(std::size_t call, std::size_t i);

    boost::redis::request request;
    std::shared_ptr<std::vector<decide::reply>> replies =
        std::make_shared<std::vector<decide::reply>>();
    std::vector<call> calls;
    std::vector<step*> steps;
    time_point sent;

private:
    void arrange(step_list& from);
    std::size_t alike(std::size_t at) const;
    void write(std::span<step* const>, std::string_view floor, bool as_text);

    std::vector<std::string_view> words_;
};

}  // namespace colock
