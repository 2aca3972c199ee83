#include "decide/lease.hpp"
#include "holds/cohort.hpp"

#include <algorithm>
#include <utility>

namespace colock {

namespace {

/// The place of the lease among the arguments of a renewal: behind the id.
constexpr std::size_t lease_place = 1;

}  // namespace

// ---- Members -----------------------------------------------------------------------------------

// A thread that read the time of an earlier formation sees that there is another one.
void cohort::form(terms const& all, std::string_view id_prefix)
{
    formation_.fetch_add(1, std::memory_order_acq_rel);
    terms_ = all;
    id_prefix_ = id_prefix;
}

void cohort::disband() noexcept
{
    cohort_hook::unlink();
    members_ = {};
    slots_ = {};
    text_ = {};
    ends_ = {};
    size_ = 0;
}

void cohort::put(std::string_view word)
{
    text_ += word;
    ends_.push_back(static_cast<std::uint32_t>(text_.size()));
}

void cohort::add(
    ownership& one, unsigned slot, std::string_view key, std::span<std::string_view const> arguments
)
{
    close_gaps();
    auto id = arguments.front();
    if (members_.empty())
        has_prefix_ = id.starts_with(id_prefix_);
    if (has_prefix_)
        id.remove_prefix(id_prefix_.size());
    put(key);
    put(id);
    for (auto const more : arguments.subspan(lease_place + 1))
        put(more);
    members_.push_back(&one);
    slots_.push_back(static_cast<std::uint16_t>(slot));
    ++size_;
}

void cohort::remove(ownership const& one) noexcept
{
    members_[place_of(one)] = nullptr;
    --size_;
}

std::size_t cohort::place_of(ownership const& one) const noexcept
{
    return static_cast<std::size_t>(std::ranges::find(members_, &one) - members_.begin());
}

void cohort::close_gaps()
{
    if (size_ == members_.size())
        return;
    auto const each = words_each();
    auto const old_text = std::exchange(text_, {});
    auto const old_ends = std::exchange(ends_, {});
    std::size_t kept = 0;
    std::uint32_t begin = 0;
    for (std::size_t i = 0; i != members_.size(); ++i)
        for (std::size_t w = i * each; w != (i + 1) * each; begin = old_ends[w++])
            if (members_[i])
                put(std::string_view{old_text}.substr(begin, old_ends[w] - begin));
    for (std::size_t i = 0; i != members_.size(); ++i)
        if (members_[i]) {
            members_[kept] = members_[i];
            slots_[kept++] = slots_[i];
        }
    members_.resize(kept);
    slots_.resize(kept);
}

void cohort::fit()
{
    members_.shrink_to_fit();
    slots_.shrink_to_fit();
    text_.shrink_to_fit();
    ends_.shrink_to_fit();
}

// ---- The call ----------------------------------------------------------------------------------

void cohort::begin_call(words& to)
{
    close_gaps();
    is_under_way_ = true;
    auto const each = words_each(), count = members_.size();
    to.lease = std::to_string(lease().count());
    to.keys.reserve(largest);
    to.arguments.reserve(largest * each);
    to.ids.reserve(has_prefix_ ? text_.size() + count * id_prefix_.size() : 0);  // views stay good
    auto const text = std::string_view{text_};
    std::uint32_t begin = 0;
    for (std::size_t w = 0; w != ends_.size(); begin = ends_[w++]) {
        auto word = text.substr(begin, ends_[w] - begin);
        if (w % each == 0) {
            to.keys.push_back(word);
            continue;
        }
        bool const is_id = w % each == 1;
        if (is_id && has_prefix_) {
            auto const from = to.ids.size();
            to.ids.append(id_prefix_).append(word);
            word = std::string_view{to.ids}.substr(from);
        }
        to.arguments.push_back(word);
        if (is_id)
            to.arguments.push_back(to.lease);
    }
}

std::vector<cohort::part> cohort::end_call() noexcept
{
    is_under_way_ = false;
    return std::exchange(left_, {});
}

void cohort::renewed(time_point sent, time_point now) noexcept
{
    sent_ = sent;
    answered_ = now;
    until_.store(
        decide::valid_until(sent, lease()).time_since_epoch().count(), std::memory_order_release
    );
}

time_point cohort::valid_until() const noexcept { return decide::valid_until(sent_, lease()); }

time_point cohort::loss_time() const noexcept
{
    return valid_until() - decide::loss_margin(lease(), terms_.loss_margin);
}

// ---- From any thread ---------------------------------------------------------------------------

// The cohort may be dissolved and formed again, of others, between any two of these lines. The time
// counts if the ownership is still in the same formation behind it.
time_point cohort::membership::valid_until() const noexcept
{
    for (;;) {
        auto const* const in = of_.load(std::memory_order_acquire);
        if (!in)
            return {};
        auto const formation = in->formation_.load(std::memory_order_acquire);
        time_point const until{time_point::duration{in->until_.load(std::memory_order_acquire)}};
        if (of_.load(std::memory_order_acquire) == in &&
            in->formation_.load(std::memory_order_acquire) == formation)
            return until;
    }
}

}  // namespace colock
