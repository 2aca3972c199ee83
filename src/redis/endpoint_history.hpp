#pragma once

#include <colock/config.hpp>
#include <colock/detail/initiate.hpp>

#include <boost/asio/generic/stream_protocol.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

namespace colock {

namespace asio = boost::asio;

/// The endpoints to which the name of a server has led, and how they have served. Of several, one
/// may accept connections and serve nobody: a process that hangs, a replica, a proxy without a
/// server.
class endpoint_history {
public:
    using endpoint = asio::generic::stream_protocol::endpoint;

    void served(endpoint const& which)
    {
        std::erase(bad_, which);
        good_ = which;
    }

    void failed(endpoint const& which)
    {
        if (good_ == which)
            good_.reset();
        std::erase(bad_, which);
        bad_.push_back(which);
        if (bad_.size() > most_remembered)
            bad_.erase(bad_.begin());
    }

    /// The one that has served last, and has not failed since.
    std::optional<endpoint> const& good() const noexcept { return good_; }

    /// In which order to try these: the good one first; the one that has failed last comes last. If
    /// the name leads nowhere, the good one is tried, or else the one that has failed first.
    template <class Range>
    std::vector<endpoint> in_order(Range const& found) const
    {
        std::vector<endpoint> ordered(found.begin(), found.end());
        if (ordered.empty() && (good_ || !bad_.empty()))
            return {good_ ? *good_ : bad_.front()};
        std::ranges::stable_sort(ordered, {}, [this](endpoint const& each) {
            auto const at = std::ranges::find(bad_, each);
            return each == good_   ? -1
                : at == bad_.end() ? std::ptrdiff_t{0}
                                   : 1 + (at - bad_.begin());
        });
        return ordered;
    }

private:
    /// Names of services lead to ever new endpoints.
    static constexpr std::size_t most_remembered = 16;

    std::optional<endpoint> good_;
    std::vector<endpoint> bad_;  ///< the one that has failed last comes last
};

/// The histories of the addresses that the links of a client have been at.
class endpoint_histories {
public:
    endpoint_history& of(address const& where)
    {
        auto const at = std::ranges::find(known_, where, &entry::where);
        if (at != known_.end())
            return at->history;
        if (known_.size() == most_remembered)
            known_.erase(known_.begin());
        return known_.emplace_back(where).history;
    }

private:
    struct entry {
        explicit entry(address const& a) : where{a} {}

        address where;
        endpoint_history history{};
    };
    static constexpr std::size_t most_remembered = 256;

    std::vector<entry> known_;  ///< the oldest one first
};

}  // namespace colock
