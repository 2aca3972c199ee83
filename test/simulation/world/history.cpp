// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "simulation/world/history.hpp"

#include <algorithm>
#include <functional>

namespace colock::simulation {

namespace {

template <std::size_t Size>
void copy_end(std::array<char, Size>& to, std::string_view text)
{
    // The end of a name tells more than its beginning.
    if (text.size() >= Size)
        text.remove_prefix(text.size() - Size + 1);
    auto const end = std::ranges::copy(text, to.begin()).out;
    *end = 0;
}

std::uint64_t mixed(std::uint64_t sum, std::uint64_t with)
{
    sum = (sum ^ with) * 0x9fb21c651e98df25U;
    return sum ^ (sum >> 32U);
}

}  // namespace

void history::note(
    moment when,
    int actor,
    std::string_view what,
    std::string_view object,
    std::int64_t number,
    std::string_view detail
)
{
    auto const text = std::hash<std::string_view>{};
    for (auto const part :
         {static_cast<std::uint64_t>(when.count()),
          static_cast<std::uint64_t>(actor),
          static_cast<std::uint64_t>(number),
          static_cast<std::uint64_t>(text(what)),
          static_cast<std::uint64_t>(text(object)),
          static_cast<std::uint64_t>(text(detail))})
        sum_ = mixed(sum_, part);
    auto& e = last_[size_++ % last_.size()];
    e.when = when;
    e.actor = actor;
    e.what = what;
    e.number = number;
    copy_end(e.object, object);
    copy_end(e.detail, detail);
}

void history::print(std::ostream& to, std::string_view object, std::size_t count) const
{
    std::vector<event const*> wanted;
    auto const kept = std::min<std::uint64_t>(size_, last_.size());
    for (auto n = size_; n != size_ - kept && wanted.size() != count; --n) {
        auto const& e = last_[(n - 1) % last_.size()];
        std::string_view const name{e.object.data()};
        if (name.empty() || name.find(object) != name.npos)
            wanted.push_back(&e);
    }
    std::ranges::reverse(wanted);
    for (auto const* e : wanted) {
        auto const us = std::chrono::duration_cast<std::chrono::microseconds>(e->when).count();
        auto fraction = std::to_string(us % 1'000'000);
        fraction.insert(0, 6 - fraction.size(), '0');
        to << "  " << us / 1'000'000 << '.' << fraction << "  "
           << (e->actor < 0 ? "server " + std::to_string(-e->actor - 1)
                            : "client " + std::to_string(e->actor))
           << "  " << e->what << "  " << e->object.data() << "  " << e->number << "  "
           << e->detail.data() << '\n';
    }
}

}  // namespace colock::simulation
