#include "resp/message.hpp"

namespace colock::resp {

using decide::reply;

node const* value_reader::next_node() noexcept
{
    if (rest_.empty())
        return nullptr;
    auto const* const taken = &rest_.front();
    rest_ = rest_.subspan(1);
    return taken;
}

// The parser bounds the depth, and with it this recursion.
reply value_reader::next()
{
    auto const* const taken = next_node();
    if (!taken)
        return {};
    switch (taken->what) {
    case node::kind::nil: return {};
    case node::kind::integer: return reply::of(taken->number);
    case node::kind::text: return reply::of(taken->text);
    case node::kind::error: return reply::error(taken->text);
    case node::kind::list: break;
    }
    reply list = reply::of(std::vector<reply>{});
    list.items.reserve(static_cast<std::size_t>(taken->number));
    for (std::int64_t i = 0; i != taken->number; ++i)
        list.items.push_back(next());
    return list;
}

reply to_reply(message const& whole) { return value_reader{whole}.next(); }

}  // namespace colock::resp
