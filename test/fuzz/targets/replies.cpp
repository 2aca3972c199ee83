// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Replies of scripts, from the wire to the answers that locks act on: a tree has what the wire had
// and nothing else, an answer says no more than its reply, and no answer lets anybody wait longer
// than the poll cap or ask at a time in the past.
#include "decide/fair_wait.hpp"
#include "decide/taking.hpp"
#include "decide/wait_plan.hpp"
#include "fuzz/fuzz.hpp"
#include "fuzz/wire.hpp"
#include "redis/call_batch.hpp"
#include "redis/connection_loop.hpp"

#include <charconv>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace colock::fuzz {

using decide::reply;

namespace {

using boost::redis::any_adapter;
using boost::redis::resp3::type;
using std::chrono::milliseconds;

struct seen_node {
    type what;
    std::string text;
    std::size_t depth;
};

bool is_error(type t) noexcept { return t == type::simple_error || t == type::blob_error; }

void check_value(reply const& r, seen_node const& n)
{
    using kind = reply::kind;
    require((r.what == kind::error) == is_error(n.what), "an error is one on the wire");
    require((r.what == kind::nil) == (n.what == type::null), "nil is nil on the wire");
    require(
        (r.what == kind::list) == boost::redis::resp3::is_aggregate(n.what),
        "a list is an aggregate on the wire"
    );
    if (r.what == kind::integer) {
        require(n.what == type::number, "an integer is a number on the wire");
        std::int64_t wanted = 0;
        auto const end = n.text.data() + n.text.size();
        auto const read = std::from_chars(n.text.data(), end, wanted);
        require(read.ec == std::errc{} && read.ptr == end, "an integer has digits, and no more");
        require(r.number == wanted, "an integer is that of the wire");
    } else {
        bool const has_text = r.what == kind::text || r.what == kind::error;
        require(r.number == 0, "what is no integer has no number");
        require(r.text == (has_text ? n.text : ""), "a text is that of the wire");
    }
}

/// In the order of the wire.
void check_tree(
    std::vector<reply> const& siblings,
    std::size_t depth,
    std::vector<seen_node>::const_iterator& at,
    std::vector<seen_node>::const_iterator end
)
{
    for (auto const& each : siblings) {
        require(at != end && at->depth == depth, "a node is where it was on the wire");
        check_value(each, *at++);
        check_tree(each.items, depth + 1, at, end);
    }
}

/// Parses once for the tree and once for the nodes.
std::vector<reply> parse(std::string_view bytes)
{
    auto got = replies_in(bytes);
    std::vector<seen_node> seen;
    any_adapter into{
        any_adapter::impl_t{[&seen](any_adapter::parse_event what, auto const& node, error_code&) {
            if (what == any_adapter::parse_event::node)
                seen.push_back({node.data_type, std::string{node.value}, node.depth});
        }}};
    wire from{bytes};
    std::size_t whole = 0;
    while (from.next(into))
        whole = seen.size();
    seen.resize(whole, {type::null, {}, 0});
    auto at = seen.cbegin();
    check_tree(got, 0, at, seen.cend());
    require(at == seen.cend(), "each node is in the tree");
    return got;
}

void check_times(std::int64_t ms)
{
    constexpr milliseconds cap{1'000};
    for (auto const now : {time_point{}, time_point{std::chrono::hours{24 * 365 * 100}}}) {
        auto const wake = decide::wake_time(now, ms, cap);
        require(!wake || (*wake >= now && *wake <= now + cap), "asks before the poll cap");
        for (double const dice : {0.0, 0.999}) {
            auto const again = decide::look_again(now, ms, cap, dice);
            require(again >= now && again <= now + cap, "looks again before the poll cap");
            auto const sleep = decide::sleep_at_gate(milliseconds{ms}, cap, dice);
            require(ms < 0 || (sleep.count() > 0 && sleep <= cap), "sleeps no longer than the cap");
        }
    }
}

void check_answers(reply const& r)
{
    using kind = reply::kind;
    auto const acquire = decide::read_acquire(r);
    auto const release = decide::read_release(r);
    auto const extend = decide::read_extend(r);
    auto const keep = decide::read_keep(r);
    auto const inspect = decide::read_inspect(r);
    bool const is_granted = acquire.what == decide::acquire_answer::kind::granted;
    bool const is_refused = acquire.what == decide::acquire_answer::kind::refused;
    require(!is_granted || (r.what == kind::integer && r.number >= 0), "granted by an integer");
    require(!is_granted || acquire.last_token == static_cast<std::uint64_t>(r.number), "a token");
    require(!is_refused || r.what == kind::list, "refused by a list");
    require(
        (release.what == decide::release_answer::kind::gone) == (r.what == kind::nil),
        "gone by nil alone"
    );
    require(
        (extend == decide::extend_answer::extended) == (r.what == kind::integer && r.number == 1),
        "extended by 1 alone"
    );
    require(
        keep.what != decide::keep_answer::kind::gone || (r.what == kind::integer && r.number == 0),
        "a place is gone by 0 alone"
    );
    require(
        (keep.what == decide::keep_answer::kind::waits) == is_refused &&
            (!is_refused || keep.ask_in == acquire.pttl),
        "a ticket waits by what refuses"
    );
    require(!inspect.locked || inspect.well_formed, "held by an answer");
    require(!(inspect.is_read || inspect.is_written) || inspect.well_formed, "a side by an answer");
    check_times(acquire.pttl);
    check_times(inspect.pttl);
}

/// What a call's steps are told is of the call's reply.
void check_parts(reply const& r)
{
    auto const most = r.items.size() + 2;
    for (std::size_t count = most > 4 ? most - 4 : 1; count <= most; ++count)
        for (std::size_t i = 0; i != count; ++i) {
            call_batch sent;
            sent.calls.push_back({0, count});
            sent.replies->push_back(r);
            auto const part = sent.reply_of(0, i);
            bool const is_list = r.what == reply::kind::list && r.items.size() == count;
            require(
                is_list ? is_same(part, r.items[i])
                        : part.what == r.what || part.what == reply::kind::text,
                "a step gets its part"
            );
            require(
                is_list || part.what == reply::kind::error ||
                    decide::read_acquire(part).what == decide::acquire_answer::kind::malformed,
                "a call without parts grants nothing"
            );
        }
}

}  // namespace

void replies(std::string_view bytes);

void replies(std::string_view bytes)
{
    for (auto const& r : parse(bytes)) {
        check_answers(r);
        for (auto const& part : r.items)
            check_answers(part);
        if (r.items.size() <= 32)
            check_parts(r);
        auto const again = replies_in(written(r));
        require(again.size() == 1 && is_same(again.front(), r), "what is written is read again");
    }
}

}  // namespace colock::fuzz
