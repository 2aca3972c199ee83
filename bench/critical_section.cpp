#include "critical_section.hpp"

#include <cerrno>
#include <fcntl.h>
#include <unistd.h>
#include <utility>

namespace bench {

namespace {

constexpr mode_t owner_only = 0600;

std::int64_t nanoseconds(steady::time_point t)
{
    return std::chrono::nanoseconds{t.time_since_epoch()}.count();
}

}  // namespace

critical_section::critical_section(board& common, int process, window when, std::string file)
    : common_{common}
    , process_{process}
    , when_{when}
    , file_{std::move(file)}
{}

void critical_section::arrive(steady::time_point now)
{
    ++waiting_;
    if (!inside_ && !waits_since_)
        waits_since_ = now;
}

void critical_section::give_up()
{
    if (--waiting_ == 0)
        waits_since_.reset();
}

void critical_section::enter(steady::time_point now)
{
    --waiting_;
    if (!take_place())
        ++overlaps_;
    inside_ = true;
    auto const left = common_.leaving.load();
    auto const last = common_.last.exchange(process_);
    if (last != process_)
        begin_turn(now, last >= 0 ? nanoseconds(now) - left : 0);
    waits_since_.reset();
}

void critical_section::leave(steady::time_point now)
{
    if (made_file_)
        unlink(file_.c_str());
    --common_.inside;
    inside_ = false;
    if (waiting_ > 0)
        waits_since_ = now;
    common_.leaving = nanoseconds(now);
}

bool critical_section::take_place()
{
    bool const alone = ++common_.inside == 1;
    if (file_.empty())
        return alone;
    int const fd = open(file_.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, owner_only);
    made_file_ = fd >= 0;
    if (made_file_)
        close(fd);
    return alone && (made_file_ || errno != EEXIST);
}

void critical_section::begin_turn(steady::time_point now, std::int64_t handover)
{
    // A wait that only ends after the window counts too: the longest ones do.
    if (waits_since_ && *waits_since_ < when_.end && now > when_.begin)
        client_waits_.add(now - *waits_since_);
    if (!when_.holds(now, now))
        return;
    ++turns_;
    if (handover > 0)
        handovers_.add(std::chrono::nanoseconds{handover});
}

void critical_section::describe(json::object& into)
{
    into["turns"] = turns_;
    into["client_wait_p99_ms"] = client_waits_.microseconds(0.99) / 1e3;
    into["client_wait_max_ms"] = client_waits_.microseconds(1.0) / 1e3;
    into["overlaps"] = overlaps_;
    into["mutex_ok"] = overlaps_ == 0;
    json::array handovers;
    for (auto const ns : handovers_.nanoseconds())
        handovers.push_back(ns);
    into["handover_ns"] = std::move(handovers);
}

}  // namespace bench
