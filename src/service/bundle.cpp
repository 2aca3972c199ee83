#include "service/bundle.hpp"
#include "service/core.hpp"

#include <boost/asio/bind_executor.hpp>

#include <algorithm>
#include <utility>

namespace colock {

using status = hold_state::status;

bundle::bundle(core& inside, std::vector<hold> parts, std::size_t needed)
    : core_{inside}
    , parts_{std::move(parts)}
    , needed_{needed}
    , held_{static_cast<std::size_t>(std::ranges::count_if(parts_, [](hold const& part) {
        return bool{part};
    }))}
{}

hold_ptr bundle::begin(core_ptr const& inside, owner const& who, milliseconds lease, bool renewed)
{
    auto whole = std::make_shared<hold_state>(inside, who, lease, renewed);
    whole->token = parts_.empty() ? 0 : parts_.front().fencing_token();
    whole->lives_on = shared_from_this();
    whole_ = whole;
    for (auto const& part : parts_)
        part.lost(asio::bind_executor(core_.strand(), [weak = weak_from_this()](error_code ec) {
            auto const self = weak.lock();
            if (self && !ec)
                self->on_part_lost();
        }));
    return whole;
}

void bundle::on_part_lost()
{
    auto const whole = whole_.lock();
    if (--held_ < needed_ && whole)
        whole->lose();
}

template <class Act>
void bundle::for_all(Act act, outcome told)
{
    struct tally {
        std::size_t unanswered, succeeded;
        error_code first;
        outcome told;
    };
    auto const all = std::make_shared<tally>(parts_.size(), 0, error_code{}, std::move(told));
    for (auto& part : parts_)
        act(part, asio::bind_executor(core_.strand(), [all, needed = needed_](error_code ec) {
                all->succeeded += !ec;
                if (ec && !all->first)
                    all->first = ec;
                if (--all->unanswered == 0)
                    all->told(all->succeeded >= needed ? error_code{} : all->first);
            }));
}

void bundle::release(std::shared_ptr<change> who)
{
    auto const whole = who->hold;
    if (whole->now() == status::released)
        return who->finish({});
    bool const was_lost = whole->now() == status::lost;
    whole->end(asio::error::operation_aborted);
    for_all(
        [](hold& part, auto handler) { part.release(std::move(handler)); },
        [who, was_lost, self = shared_from_this()](error_code ec) {
            who->finish(was_lost ? error_code{error::lost} : ec);
        }
    );
}

void bundle::extend(std::shared_ptr<change> who, milliseconds lease)
{
    auto const now = who->hold->now();
    if (now != status::held)
        return who->finish(now == status::lost ? error::lost : error::not_held);
    for_all(
        [lease](hold& part, auto handler) { part.extend(lease, std::move(handler)); },
        [who, self = shared_from_this()](error_code ec) { who->finish(ec); }
    );
}

void bundle::drop(hold_ptr const& whole)
{
    whole->end(asio::error::operation_aborted);
    parts_.clear();  // each is released in the background
}

time_point bundle::valid_until(time_point) const noexcept
{
    // The last moment at which as many as are needed are valid.
    time_point last = never;
    std::size_t passed = 0;
    for (auto const& part : parts_) {
        auto const until = part.valid_until();
        auto const as_long =
            static_cast<std::size_t>(std::ranges::count_if(parts_, [until](hold const& p) {
                return p.valid_until() >= until;
            }));
        if (as_long >= needed_ && (passed++ == 0 || until > last))
            last = until;
    }
    return passed == 0 ? time_point{} : last;
}

std::uint64_t bundle::fencing_token(std::size_t i) const noexcept
{
    return i < parts_.size() ? parts_[i].fencing_token() : 0;
}

}  // namespace colock
