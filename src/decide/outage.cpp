#include "decide/outage.hpp"
#include "decide/seconds.hpp"

#include <algorithm>
#include <utility>

namespace colock::decide {

namespace {

/// Most servers answer by the first of these times; after the second, the line says how many have
/// not.
constexpr milliseconds first_wait{50};
constexpr milliseconds longest_silence{2'000};

/// A connection that is replaced at once delays nobody by more than a steady client notices.
constexpr milliseconds shortest_news{1'000};

}  // namespace

// A link that ends again at once was not up for long enough to ask for anything.
void outage::link_down(std::size_t link, time_point now, std::uint64_t lost)
{
    if (down_.empty() && !since_)
        lost_before_ = lost;
    down_.emplace(link, since_.value_or(now));
    since_.reset();
}

void outage::link_up(std::size_t link, time_point now)
{
    auto const was = down_.extract(link);
    if (!was)
        return;
    since_ = std::min(since_.value_or(was.mapped()), was.mapped());
    reached_ = now;
    next_look_ = now + first_wait;
}

void outage::clear() noexcept
{
    down_.clear();
    since_.reset();
}

std::optional<std::string> outage::tell(time_point now, holds const& of, std::uint64_t lost)
{
    auto const waited = now - reached_;
    if (of.open != 0 && waited < longest_silence) {
        next_look_ = now + std::max<time_point::duration>(waited, first_wait);
        return {};
    }
    auto const lost_since = lost - std::exchange(lost_before_, lost);
    auto const lasted = reached_ - *std::exchange(since_, std::nullopt);
    if (lasted < shortest_news && lost_since == 0)
        return {};
    auto line = "connected again after " + in_seconds(lasted);
    if (of.confirmed + of.open + lost_since == 0)
        return line;
    line += "; " + std::to_string(of.confirmed) + (of.confirmed == 1 ? " hold" : " holds") +
        " confirmed, " + std::to_string(lost_since) + " lost";
    if (of.open != 0)
        line += ", " + std::to_string(of.open) + " not answered yet";
    return line;
}

}  // namespace colock::decide
