#include "redis/any_command.hpp"
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

/// No script: its reply is that of its one step.
bool is_bare(scripts::script const& what) noexcept
{
    return &what == &ping_command || &what == &any_command;
}

}  // namespace

scripts::script const& form_of(scripts::script const& what, publishing how) noexcept
{
    auto const* const form = how == publishing::sharded ? what.sharded
        : how == publishing::both                       ? what.both
                                                        : nullptr;
    return form ? *form : what;
}

void call_batch::fill(step_list& from, manner how)
{
    arrange(from, how.by_slot);
    for (auto& c : calls) {
        c.place = request.get_commands() + (steps[c.first]->asking ? 1 : 0);
        write(std::span{steps}.subspan(c.first, c.count), how);
    }
    write_wait();
    replies->reserve(request.get_commands());
}

void call_batch::write_wait()
{
    unsigned most = 0;
    milliseconds longest{0};
    for (auto const* s : steps)
        if (s->replicas != 0) {
            most = std::max(most, s->replicas);
            longest = std::max(longest, s->patience);
        }
    waits_ = most != 0;
    if (waits_)
        request.push("WAIT", most, longest.count());
}

error_code call_batch::unsynced(step const& s) const noexcept
{
    if (s.replicas == 0)
        return {};
    auto const& got = replies->back();
    // It has become a replica meanwhile, and lets nobody wait any more.
    if (got.what == reply::kind::error && got.text.starts_with("UNBLOCKED"))
        return error::not_replicated;
    if (!waits_ || got.what != reply::kind::integer)
        return error::unsupported;
    return got.number >= s.replicas ? error_code{} : error_code{error::not_replicated};
}

void call_batch::arrange(step_list& from, bool by_slot)
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
            calls.push_back({at, 1, steps[at]->whole || is_bare(steps[at]->what)});
    };
    put_alone(take([](step const& s) { return s.whole && confirms(s.what); }));
    for (auto const* script : joined) {
        if (from.empty())
            break;
        auto at = take([script](step const& s) {
            return &s.what == script && !s.alone && !s.as_text && !s.whole;
        });
        if (by_slot)
            std::stable_sort(
                steps.begin() + static_cast<std::ptrdiff_t>(at),
                steps.end(),
                [](step const* a, step const* b) { return a->slot < b->slot; }
            );
        while (at != steps.size()) {
            auto const count = alike(at, by_slot);
            calls.push_back({at, count});
            at += count;
        }
    }
    put_alone(take([](step const&) { return true; }));
}

// How many steps from here on may share a call: their floor is the call's.
std::size_t call_batch::alike(std::size_t at, bool by_slot) const
{
    auto const most = std::min(largest_call, steps.size() - at);
    auto const may_join = [&](step const& first, step const& other) {
        return first.floor == other.floor && !(by_slot && first.slot != other.slot);
    };
    std::size_t count = 1;
    while (count != most && may_join(*steps[at], *steps[at + count]))
        ++count;
    return count;
}

void call_batch::write(std::span<step* const> some, manner const& how)
{
    step const& any = *some.front();
    if (any.asking)
        request.push("ASKING");
    if (&any.what == &ping_command) {
        request.push(any.what.name);
        return;
    }
    if (&any.what == &any_command) {
        auto const words = any.arguments;
        if (words.size() == 1)
            request.push(words.front());
        else
            request.push_range(words.front(), words.subspan(1));
        return;
    }
    bool const text = any.as_text || how.as_text;
    auto const& form = form_of(any.what, how.publish);
    char count[8];
    auto const end = std::to_chars(count, count + sizeof count, some.size() * any.keys.size()).ptr;
    words_.assign(
        {text ? form.text : form.sha1,
         std::string_view{count, static_cast<std::size_t>(end - count)}}
    );
    for (auto const* s : some)
        words_.insert(words_.end(), s->keys.begin(), s->keys.end());
    if (is_fenced(any.what))
        words_.push_back(any.floor == link_floor ? how.floor : any.floor);
    for (auto const* s : some)
        words_.insert(words_.end(), s->arguments.begin(), s->arguments.end());
    request.push_range(text ? "EVAL" : "EVALSHA", words_);
}

reply call_batch::reply_of(std::size_t c, std::size_t i)
{
    auto const& [first, count, is_whole, place] = calls[c];
    reply& whole = (*replies)[place];
    if (is_whole)
        return std::move(whole);
    if (whole.what == reply::kind::list && whole.items.size() == count)
        return std::move(whole.items[i]);
    if (whole.what == reply::kind::error)
        return whole;
    return reply::of(std::string_view{});  // which no reader takes
}

}  // namespace colock
