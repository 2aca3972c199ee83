#include "redis/call_batch.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace colock {

using decide::reply;

namespace {

// Steps of the same script go together. Where steps of one key meet, this order is right whichever
// was handed over first: an older renewal must not shorten what an extension sets, and a release
// makes way for an acquire. The plain lock's come first, for mostly there are no others.
constexpr std::array joined{
    &scripts::renew,
    &scripts::extend,
    &scripts::release,
    &scripts::acquire,
    &scripts::read_renew,
    &scripts::read_extend,
    &scripts::read_release,
    &scripts::write_release,
    &scripts::write_acquire,
    &scripts::read_acquire,
    &scripts::fair_release,
    &scripts::fair_acquire,
    &scripts::permit_extend};

/// A call for many that confirms what there is. It comes before all else: what the others ask may
/// take away what was not confirmed in time.
bool confirms(scripts::script const& s) noexcept
{
    return &s == &scripts::renew || &s == &scripts::read_renew || &s == &scripts::fair_keep;
}

/// The script draws tokens: a floor stands in front of its arguments.
bool is_fenced(scripts::script const& s) noexcept
{
    return &s == &scripts::acquire || &s == &scripts::write_acquire || &s == &scripts::fair_acquire;
}

}  // namespace

void call_batch::fill(step_list& from, std::string_view floor, bool as_text)
{
    arrange(from);
    for (auto const& c : calls)
        write(std::span{steps}.subspan(c.first, c.count), floor, as_text);
    replies->reserve(calls.size());
}

void call_batch::arrange(step_list& from)
{
    auto const take = [&](auto const& belongs) {
        std::size_t const first = steps.size();
        for (auto at = from.begin(); at != from.end();) {
            step& s = *at++;
            if (!belongs(s))
                continue;
            from.erase(from.iterator_to(s));
            steps.push_back(&s);
        }
        return first;
    };
    auto const put_alone = [&](std::size_t at) {
        for (; at != steps.size(); ++at)
            calls.push_back({at, 1, steps[at]->whole || &steps[at]->what == &ping_command});
    };
    put_alone(take([](step const& s) { return s.whole && confirms(s.what); }));
    for (auto const* script : joined) {
        if (from.empty())
            break;
        auto at = take([script](step const& s) {
            return &s.what == script && !s.alone && !s.as_text && !s.whole;
        });
        while (at != steps.size()) {
            auto const count = alike(at);
            calls.push_back({at, count});
            at += count;
        }
    }
    put_alone(take([](step const&) { return true; }));
}

// How many steps from here on may share a call: their floor is the call's.
std::size_t call_batch::alike(std::size_t at) const
{
    auto const most = std::min(largest_call, steps.size() - at);
    std::size_t count = 1;
    while (count != most && steps[at + count]->floor == steps[at]->floor)
        ++count;
    return count;
}

void call_batch::write(std::span<step* const> some, std::string_view floor, bool as_text)
{
    step const& any = *some.front();
    if (&any.what == &ping_command) {
        request.push(any.what.name);
        return;
    }
    bool const text = any.as_text || as_text;
    char count[8];
    auto const end = std::to_chars(count, count + sizeof count, some.size() * any.keys.size()).ptr;
    words_.assign(
        {text ? any.what.text : any.what.sha1,
         std::string_view{count, static_cast<std::size_t>(end - count)}}
    );
    for (auto const* s : some)
        words_.insert(words_.end(), s->keys.begin(), s->keys.end());
    if (is_fenced(any.what))
        words_.push_back(any.floor == link_floor ? floor : any.floor);
    for (auto const* s : some)
        words_.insert(words_.end(), s->arguments.begin(), s->arguments.end());
    request.push_range(text ? "EVAL" : "EVALSHA", words_);
}

reply call_batch::reply_of(std::size_t c, std::size_t i)
{
    reply& whole = (*replies)[c];
    auto const& [first, count, is_whole] = calls[c];
    if (is_whole)
        return std::move(whole);
    if (whole.what == reply::kind::list && whole.items.size() == count)
        return std::move(whole.items[i]);
    if (whole.what == reply::kind::error)
        return whole;
    return reply::of(std::string_view{});  // which no reader takes
}

}  // namespace colock
