#include "decide/names.hpp"
#include "redis/any_command.hpp"
#include "redis/call_batch.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

namespace colock {

using decide::reply;

namespace {

constexpr bool joins(scripts::script const* s) noexcept { return s->traits.joins != 0; }

/// The scripts whose steps go together, in the order in which they are written.
constexpr auto joined = [] {
    std::array<scripts::script const*, std::ranges::count_if(scripts::all, joins)> some{};
    std::ranges::copy_if(scripts::all, some.begin(), joins);
    std::ranges::sort(some, {}, [](auto const* s) { return s->traits.joins; });
    return some;
}();

/// Not a script: its reply is the reply of its one step.
bool is_bare(scripts::script const& what) noexcept
{
    return &what == &ping_command || &what == &any_command;
}

/// The arguments that stand once in a call.
std::span<std::string_view const> shared_by(step const& s) noexcept
{
    return s.arguments.first(s.what.traits.shares_first ? 1 : 0);
}

/// The name of a key in the slot of this counter that nobody reads.
std::string mark_of(config const& settings, std::string const& counter)
{
    return settings.key_prefix + "colock_mark" + counter.substr(counter.find(':'));
}

}  // namespace

scripts::script const& form_of(scripts::script const& what, publishing how) noexcept
{
    auto const* const form = how == publishing::sharded ? what.sharded
        : how == publishing::both                       ? what.both
                                                        : nullptr;
    return form ? *form : what;
}

// ---- Out ----------------------------------------------------------------------------------------

void call_batch::fill(step_list& from, manner how, resp::writer& out, time_point now)
{
    calls_.clear();
    steps_.clear();
    kept_.clear();
    sent_ = now;
    next_call_ = 0;
    is_past_asking_ = false;
    numbers_ = how.numbers;
    auto const before = out.commands();
    arrange(from, how.by_slot);
    size_ = steps_.size();
    if (how.on)
        for (auto* const s : steps_)
            s->on = how.on->write();
    for (auto const& c : calls_)
        write(std::span{steps_}.subspan(c.first, c.count), how, out);
    if (numbers_ && !calls_.empty() && calls_.back().is_command)
        numbers_->write_ping();
    if (how.settings)
        write_mark(*how.settings, out);
    left_ = out.commands() - before;
}

// Calls that confirm holds come first: the others may take away what was not confirmed in time.
void call_batch::arrange(step_list& from, bool by_slot)
{
    auto const take = [&](auto const& belongs) {
        std::size_t const first = steps_.size();
        for (auto at = from.begin(); at != from.end();) {
            step& s = *at++;
            if (!belongs(s))
                continue;
            from.erase(from.iterator_to(s));
            steps_.push_back(&s);
        }
        return first;
    };
    auto const put_alone = [&](std::size_t at) {
        for (; at != steps_.size(); ++at)
            calls_.push_back(alone(at));
    };
    put_alone(take([](step const& s) { return s.whole && s.what.traits.confirms; }));
    for (auto const* script : joined) {
        if (from.empty())
            break;
        auto at = take([script](step const& s) {
            return &s.what == script && !s.alone && !s.as_text && !s.whole;
        });
        if (by_slot)
            std::stable_sort(
                steps_.begin() + static_cast<std::ptrdiff_t>(at),
                steps_.end(),
                [](step const* a, step const* b) { return a->slot < b->slot; }
            );
        while (at != steps_.size()) {
            auto const count = alike(at, by_slot);
            calls_.push_back({at, count});
            at += count;
        }
    }
    put_alone(take([](step const&) { return true; }));
}

call_batch::call call_batch::alone(std::size_t at) const
{
    step const& s = *steps_[at];
    return {
        .first = at,
        .count = 1,
        .whole = s.whole || is_bare(s.what),
        .asking = s.asking,
        .is_command = &s.what == &any_command,
    };
}

// How many steps from here on may share a call: those that draw tokens as the first does, and have
// the same shared argument.
std::size_t call_batch::alike(std::size_t at, bool by_slot) const
{
    auto const most = std::min(largest_call, steps_.size() - at);
    auto const may_join = [&](step const& first, step const& other) {
        return first.tokens == other.tokens && !(by_slot && first.slot != other.slot) &&
            std::ranges::equal(shared_by(first), shared_by(other));
    };
    std::size_t count = 1;
    while (count != most && may_join(*steps_[at], *steps_[at + count]))
        ++count;
    return count;
}

void call_batch::write(std::span<step* const> some, manner const& how, resp::writer& out)
{
    step const& any = *some.front();
    if (any.asking)
        out.push("ASKING");
    if (&any.what == &ping_command)
        return numbers_ ? numbers_->write_ping() : out.push(any.what.name);
    if (&any.what == &any_command)
        return out.push_range(any.arguments);
    auto const& form = form_of(any.what, how.publish);
    bool const text = is_as_text(any, form, how);
    std::size_t const keys = some.size() * any.keys.size();
    bool const fenced = any.what.traits.draws_tokens;
    auto const shared = shared_by(any).size();
    out.begin(
        3 + keys + (fenced ? 1 : 0) + shared + some.size() * (any.arguments.size() - shared) +
        (numbers_ ? 1 : 0)
    );
    out.add(text ? "EVAL" : "EVALSHA");
    out.add(text ? form.text : form.sha1);
    out.add(keys);
    for (auto const* s : some)
        for (auto const key : s->keys)
            out.add(key);
    if (fenced)
        out.add(any.tokens);
    for (auto const argument : shared_by(any))
        out.add(argument);
    for (auto const* s : some)
        for (auto const argument : s->arguments.subspan(shared))
            out.add(argument);
    if (numbers_)
        out.add(numbers_->number());
}

// From Redis 7.2 on, and in Valkey, WAIT counts what its connection has written, and a step that
// finds its work done writes nothing. The step that did that work may lack copies, so one write
// stands for all such steps: a gap in the tokens, or else a key that goes at once.
void call_batch::write_mark(config const& settings, resp::writer& out) const
{
    auto const may_write_nothing = [](step const* s) {
        return (s->owed || !s->wants.is_none()) && (s->repeats || s->alone);
    };
    auto const at = std::ranges::find_if(steps_, may_write_nothing);
    if (at == steps_.end())
        return;
    std::string const counter{decide::fence_counter((*at)->slot)};
    if (settings.fencing)
        out.push("INCRBY", settings.key_prefix + counter, "1");
    else
        out.push("SET", mark_of(settings, counter), "", "PX", "1");
}

// Once a script has run as text, the server knows its sum, also for calls right behind it.
bool call_batch::is_as_text(step const& s, scripts::script const& form, manner const& how) const
{
    if (how.as_text)
        return true;
    if (!how.known)
        return s.as_text;
    bool const is_known = std::ranges::find(*how.known, &form) != how.known->end();
    if (!is_known)
        how.known->push_back(&form);
    return s.as_text || !is_known;
}

// ---- In -----------------------------------------------------------------------------------------

void call_batch::on_reply(resp::message const& got)
{
    auto const self = shared_from_this();  // an answer may end the link
    --left_;
    bool const is_of_call = next_call_ != calls_.size();
    if (is_of_call)
        on_call_reply(got);
    if (is_dropped_ || left_ != 0)
        return;
    if (numbers_ && is_of_call && !kept_.empty()) {
        ++left_;
        numbers_->write_ping();
        return numbers_->expect(this, clock::now());
    }
    settle_kept();
    if (!is_dropped_)
        listener_.on_batch_over(*this);
}

void call_batch::on_call_reply(resp::message const& got)
{
    if (calls_[next_call_].asking && !std::exchange(is_past_asking_, true))
        return;
    is_past_asking_ = false;
    auto const& now = calls_[next_call_];
    if (!is_sure(now, got)) {
        kept_.push_back(resp::to_reply(got));
        ++next_call_;
        return;
    }
    settle_kept();
    ++next_call_;
    if (!is_dropped_)
        pass_on(now, got);
}

/// The number of the call has come with it.
bool call_batch::is_sure(call const& c, resp::message const& got) const noexcept
{
    return !numbers_ || !(got.is_error() || c.is_command);
}

void call_batch::pass_on(call const& c, resp::message const& got)
{
    auto const first = c.first, count = c.count;
    bool const is_whole = c.whole;
    resp::value_reader values{got};
    auto const& head = got.first();
    bool const is_list = head.what == resp::node::kind::list && !is_whole &&
        head.number == static_cast<std::int64_t>(count);
    if (is_list)
        values.next_node();
    for (std::size_t i = 0; i != count && !is_dropped_; ++i) {
        if (is_list || is_whole)
            pass_on(first + i, values.next(), false);
        else if (got.is_error())
            pass_on(first + i, reply::error(head.text), count != 1);
        else
            pass_on(first + i, reply::of(std::string_view{}), false);  // which no reader takes
    }
}

void call_batch::pass_on(std::size_t at, reply&& value, bool in_company)
{
    step& s = *std::exchange(steps_[at], nullptr);
    listener_.on_step(s, std::move(value), in_company, sent_);
}

/// The replies that were kept are those of the calls before `next_call_`.
void call_batch::settle_kept()
{
    auto kept = std::move(kept_);
    kept_.clear();
    auto const first_call = next_call_ - kept.size();
    for (std::size_t k = 0; k != kept.size(); ++k) {
        auto const& c = calls_[first_call + k];
        auto const first = c.first, count = c.count;
        reply& whole = kept[k];
        bool const is_list = whole.what == reply::kind::list && whole.items.size() == count;
        bool const is_error = whole.what == reply::kind::error;
        for (std::size_t i = 0; i != count && !is_dropped_; ++i) {
            auto value = reply::of(std::string_view{});  // which no reader takes
            if (c.whole)
                value = std::exchange(whole, {});
            else if (is_list)
                value = std::move(whole.items[i]);
            else if (is_error)
                value = whole;
            pass_on(first + i, std::move(value), is_error && count != 1);
        }
    }
}

void call_batch::on_lost(error_code)
{
    auto const self = shared_from_this();
    for (std::size_t i = 0; i < steps_.size(); ++i)
        if (step* const s = std::exchange(steps_[i], nullptr))
            listener_.on_step_lost(*s, sent_);
    if (!is_dropped_)
        listener_.on_batch_over(*this);
}

void call_batch::drop_steps() noexcept
{
    is_dropped_ = true;
    for (step* s : std::exchange(steps_, {}))
        if (s)
            s->answered.destroy_waiting();
}

}  // namespace colock
