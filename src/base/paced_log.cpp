#include "base/paced_log.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace colock {

namespace {

constexpr milliseconds first_line_pause{1'000};

/// Of one kind. Servers have few reasons to refuse; where their words vary, the pauses count.
constexpr std::size_t most_causes = 8;

/// As many lines that are written once are remembered. The names in them may be without end.
constexpr std::size_t most_once = 1'000;

/// A line that is written at least this much later than it came says so.
constexpr std::chrono::seconds late{2};

/// "0.4 s", "12 s", "15 min".
std::string shown(clock::duration passed)
{
    auto const ms = std::chrono::round<milliseconds>(passed).count();
    if (ms < 10'000)
        return std::to_string(ms / 1'000) + '.' + std::to_string(ms / 100 % 10) + " s";
    auto const seconds = ms / 1'000;
    return seconds < 120 ? std::to_string(seconds) + " s" : std::to_string(seconds / 60) + " min";
}

}  // namespace

paced_log::paced_log(logger const& to, std::function<void(time_point)> wake)
    : to_{to}
    , wake_{std::move(wake)}
{}

void paced_log::write(log_level level, kind const& of, std::string line)
{
    if (!takes(level))
        return;
    auto const now = clock::now();
    std::erase_if(kinds_, [&](auto const& each) {
        auto const& s = each.second;
        return s.left_out == 0 && now - s.latest >= s.at.longest;
    });
    auto& s =
        kinds_.try_emplace(of.about, state{.at = of.at, .server = of.server, .is_up = of.is_up})
            .first->second;
    bool const is_new_cause = s.causes.size() < most_causes && s.causes.insert(of.cause).second;
    bool const is_news = is_new_cause || (s.is_up && is_down_in_log(s.server));
    if (is_news)
        put_left_out_with(s);
    ++s.left_out;
    s.latest = now;
    s.level = level;
    s.line = std::move(line);
    if (is_news || now >= s.due)
        put_left_out_with(s);
    else if (s.left_out == 1)
        catch_up();
}

bool paced_log::is_first(std::string about)
{
    if (once_.size() == most_once)
        once_.clear();
    return once_.insert(std::move(about)).second;
}

bool paced_log::is_down_in_log(std::string const& server) const
{
    return std::ranges::any_of(kinds_, [&](auto const& each) {
        return each.second.is_down_in_log && each.second.server == server;
    });
}

void paced_log::note_in_log(state& s)
{
    s.is_down_in_log = !s.is_up;
    if (s.is_up)
        for (auto& [about, each] : kinds_)
            if (each.server == s.server)
                each.is_down_in_log = false;
}

void paced_log::put(state& s)
{
    auto const now = clock::now();
    auto const more = std::exchange(s.left_out, 0) - 1;
    auto const age = now - s.latest;
    auto line = std::exchange(s.line, {});
    if (more != 0 || age >= late) {
        line += " (";
        if (age >= late)
            line += shown(age) + (more != 0 ? " ago, " : " ago");
        if (more != 0)
            line += "and " + std::to_string(more) + " more in " + shown(now - s.since);
        line += ')';
    }
    write_log(to_, s.level, line);
    note_in_log(s);
    s.since = now;
    bool const is_in_pause = now < s.due;
    if (++s.written < s.at.at_once || is_in_pause)
        return;
    s.pause = std::clamp(2 * s.pause, first_line_pause, s.at.longest);
    s.due = now + s.pause;
}

template <class Which>
void paced_log::put_left_out(Which const& which)
{
    std::vector<state*> all;
    for (auto& [about, s] : kinds_)
        if (s.left_out != 0 && which(s))
            all.push_back(&s);
    std::ranges::stable_sort(all, {}, &state::latest);
    for (auto* const each : all)
        put(*each);
}

void paced_log::put_left_out_with(state const& s)
{
    put_left_out([&](state const& each) {
        return &each == &s || (!s.server.empty() && each.server == s.server);
    });
}

void paced_log::catch_up()
{
    for (auto const& [about, s] : kinds_)
        if (s.left_out != 0 && clock::now() >= s.due)
            put_left_out_with(s);
    auto next = never;
    for (auto const& [about, s] : kinds_)
        if (s.left_out != 0)
            next = std::min(next, s.due);
    wake_(next);
}

void paced_log::finish()
{
    put_left_out([](state const&) { return true; });
    wake_(never);
}

}  // namespace colock
