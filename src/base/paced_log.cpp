#include "base/paced_log.hpp"

#include <algorithm>
#include <utility>

namespace colock {

namespace {

constexpr milliseconds first_pause{1'000};

/// Of one kind. Servers have few reasons to refuse; where their words vary, the pauses count.
constexpr std::size_t most_causes = 8;

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
    auto& s = kinds_.try_emplace(of.about, state{.at = of.at}).first->second;
    s.latest = now;
    bool const is_news = s.causes.size() < most_causes && s.causes.insert(of.cause).second;
    if (is_news || now >= s.due)
        return put(s, level, line);
    bool const is_first = s.left_out++ == 0;
    s.level = level;
    s.line = std::move(line);
    if (is_first)
        catch_up();
}

void paced_log::put(state& s, log_level level, std::string const& line)
{
    auto const now = clock::now();
    write_log(to_, level, line);
    s.last = now;
    if (++s.written < s.at.at_once)
        return;
    bool const is_in_pause = now < s.due;
    if (is_in_pause)
        return;
    s.pause = std::clamp(2 * s.pause, first_pause, s.at.longest);
    s.due = now + s.pause;
}

void paced_log::put_left_out(state& s)
{
    auto const more = std::exchange(s.left_out, 0) - 1;
    auto line = std::exchange(s.line, {});
    if (more != 0)
        line += " (and " + std::to_string(more) + " more in " + shown(clock::now() - s.last) + ")";
    put(s, s.level, line);
}

void paced_log::catch_up()
{
    auto next = never;
    for (auto& [about, s] : kinds_) {
        if (s.left_out != 0 && clock::now() >= s.due)
            put_left_out(s);
        if (s.left_out != 0)
            next = std::min(next, s.due);
    }
    wake_(next);
}

void paced_log::finish()
{
    for (auto& [about, s] : kinds_)
        if (s.left_out != 0)
            put_left_out(s);
    wake_(never);
}

}  // namespace colock
