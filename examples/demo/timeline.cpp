// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "demo.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <utility>

namespace demo {

namespace {

double seconds(clock::duration d) { return std::chrono::duration<double>(d).count(); }

/// "3.02 s", or "0.4 ms" for what is short.
std::string text_of(clock::duration d)
{
    char text[32];
    if (double const s = seconds(d); s < 0.1)
        std::snprintf(text, sizeof text, "%.1f ms", s * 1'000);
    else
        std::snprintf(text, sizeof text, "%.2f s", s);
    return text;
}

}  // namespace

std::string timeline::paint(std::string_view text, char const* colour) const
{
    std::string const plain{text};
    return colours_ ? std::string{"\x1b["} + colour + "m" + plain + "\x1b[0m" : plain;
}

std::string timeline::letter(std::size_t worker) const
{
    constexpr std::array colours{"1;36", "1;33", "1;35"};
    return paint(std::string(1, static_cast<char>('A' + worker)), colours[worker]);
}

void timeline::line(time_point at, std::string_view about, std::string const& text) const
{
    auto const width = static_cast<int>(about.size());
    std::printf("%6.2f s  %-8.*s %s\n", seconds(at - start_), width, about.data(), text.c_str());
    if (std::fflush(stdout) != 0)
        std::exit(1);  // nobody reads any more
}

void timeline::introduce(bool locking)
{
    line(
        start_,
        "start",
        "processes " + letter(0) + ", " + letter(1) + " and " + letter(2) +
            ", two coroutines of each on order:1, order:2, order:3" +
            (locking ? "; leases of " + text_of(lease) : ", without any lock")
    );
}

void timeline::show(event const& e)
{
    auto& key = keys_[e.key];
    auto const who = letter(e.worker);
    switch (e.what) {
    case event::kind::enters: show_entry(e); break;
    case event::kind::waits: line(e.at, keys[e.key], who + " waits"); break;
    case event::kind::lost: line(e.at, keys[e.key], who + paint(" has lost it", "1;31")); break;
    case event::kind::renewed:
        line(
            e.at,
            keys[e.key],
            who + " holds it for " + text_of(e.at - key.since) + " now; renewed, valid for " +
                text_of(e.span) + " more"
        );
        break;
    case event::kind::leaves:
        if (e.key == story_key)
            line(e.at, keys[e.key], who + " leaves after " + text_of(e.at - key.since));
        key = {.inside = false, .who = e.worker, .since = e.at};
        break;
    case event::kind::ends: show_end(e); break;
    }
}

void timeline::show_entry(event const& e)
{
    auto const before =
        std::exchange(keys_[e.key], key_state{.inside = true, .who = e.worker, .since = e.at});
    bool const other = before.who != workers && before.who != e.worker;
    auto text = letter(e.worker) + " gets in";
    if (other || before.orphaned)
        text += " " + text_of(e.at - before.since) + " after " + letter(before.who) +
            (before.orphaned ? " was killed: its lease has ended" : " left");
    if (e.key == story_key)
        text += "; fencing token " + std::to_string(e.token);
    if (e.key == story_key || before.orphaned)
        line(e.at, keys[e.key], text);
    if (e.key != story_key) {
        ++entries_[e.worker];
        handovers_ += other;
        longest_wait_ = std::max(longest_wait_, e.span);
    }
}

void timeline::show_traffic(time_point now)
{
    auto const all = std::accumulate(entries_.begin(), entries_.end(), std::size_t{0});
    std::string text = std::to_string(all) + " sections:";
    for (std::size_t w = 0; w != workers; ++w)
        text += " " + letter(w) + " " + std::to_string(entries_[w]);
    text += ", " + std::to_string(handovers_) + " changes of process, longest wait " +
        text_of(longest_wait_);
    line(now, "order:*", text);
    entries_ = {};
    handovers_ = 0;
    longest_wait_ = {};
}

void timeline::show_end(event const& e)
{
    std::string held;
    for (std::size_t k = 0; k != keys.size(); ++k)
        if (keys_[k].inside && keys_[k].who == e.worker) {
            held += (held.empty() ? "" : " and ") + std::string{keys[k]};
            keys_[k] = {.inside = false, .who = e.worker, .since = e.at, .orphaned = true};
        }
    if (!held.empty())
        line(
            e.at,
            "kill",
            letter(e.worker) + paint(" gets SIGKILL", "1;31") + " while it holds " + held
        );
}

}  // namespace demo
