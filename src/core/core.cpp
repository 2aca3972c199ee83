#include "core/core.hpp"
#include "core/event_log.hpp"
#include "redis/link_settings.hpp"
#include <colock/printable.hpp>

#include <boost/uuid/random_generator.hpp>
#include <boost/uuid/uuid_io.hpp>

#include <algorithm>
#include <optional>
#include <random>

namespace colock {
inline namespace v0_3 {
namespace detail {

namespace {

// The releases of this client tell the first of a lock's wait list, and it has a mailbox. Scripts
// know that by the version of its id: that of colock 0.2 is 8, and that of Redisson 4.
constexpr std::size_t version_place = 14;
constexpr char version_of_ids = '9';

}  // namespace

core::identity core::identity::draw()
{
    auto id = boost::uuids::to_string(boost::uuids::random_generator{}());
    id[version_place] = version_of_ids;
    std::random_device system;  // gives 32 bits at a time
    return {std::move(id), std::uint64_t{system()} << 32U | system()};
}

core::identity core::identity::of(std::uint64_t number)
{
    std::mt19937_64 engine{number};
    std::string id = "xxxxxxxx-xxxx-9xxx-axxx-xxxxxxxxxxxx";
    for (char& digit : id)
        if (digit == 'x')
            digit = "0123456789abcdef"[engine() >> 60U];
    return {std::move(id), engine()};
}

core::core(asio::any_io_executor executor, config settings, identity drawn, parts made)
    : executor_{std::move(executor)}
    , strand_{asio::make_strand(executor_)}
    , alarms_{strand_}
    , settings_{std::move(settings)}
    , names_{std::move(drawn.uuid), std::make_shared<std::string const>(printable(describe_servers(settings_)))}
    , random_{drawn.seed}
    , parts_{made}
{}

// An alarm keeps the context busy, so only a client with links waits for the end of a pause. A
// client that can't start begins again, and the line of that brings what was left out. After the
// end, when the holds are lost, nothing else may come: the lines of one moment are summed up.
void core::wake_log(time_point at)
{
    if (at != never && !has_links())
        at = life_.now == phase::idle ? never : clock::now();
    set_alarm(faults_due_, at);
}

void core::rest(pause& p, milliseconds how_long)
{
    pauses_.push_back(p);
    set_alarm(p.alarm, clock::now() + how_long);
}

void core::end_pauses()
{
    decltype(pauses_) resting;
    resting.swap(pauses_);
    while (!resting.empty())
        resting.front().finish();
}

void core::destroy_pauses() noexcept
{
    while (!pauses_.empty()) {
        pause& under_way = pauses_.front();
        pauses_.pop_front();
        under_way.over.destroy_waiting();
    }
}

// Not so long that the answer would come too late.
void core::ask_copies(step& s, decide::copies const& wants, milliseconds lease) const
{
    s.wants |= wants;
    s.copies_limit = std::max(std::min(settings_.sync_timeout, lease / 4), milliseconds{1});
}

// close() reports that a stopping client can't confirm all releases.
void core::note_unreleased(std::string_view what, failure why) noexcept
{
    life_.unreleased = true;
    if (why != error::closed)
        log(log_level::warning, {"unreleased", {}, paced_log::of_locks}, [&] {
            return "release " + std::string{what} + ": not confirmed by the server: " + why.text();
        });
}

std::string core::fence_counter(unsigned slot) const
{
    auto const counter = decide::fence_counter(slot);
    std::string key;
    key.reserve(settings_.key_prefix.size() + counter.size());
    return key.append(settings_.key_prefix).append(counter);
}

std::string core::mailbox_prefix(unsigned slot) const
{
    return decide::mailbox_prefix(slot_of_mailbox(slot), settings_.key_prefix);
}

void core::tell(client_event const& what) noexcept
{
    if (settings_.observer)
        settings_.observer->on_event(what);
    if (faults_.takes(log_level::warning))
        log_event(faults_, what);
}

}  // namespace detail
}  // namespace v0_3
}  // namespace colock
