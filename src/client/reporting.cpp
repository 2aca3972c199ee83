#include "client/reporting.hpp"
#include "core/keyed_state.hpp"
#include "core/script_call.hpp"
#include "decide/presence.hpp"
#include "holds/hold_registry.hpp"
#include "redis/any_command.hpp"
#include "system/process.hpp"

#include <boost/asio/ip/host_name.hpp>

#include <algorithm>
#include <chrono>
#include <string>
#include <tuple>
#include <utility>

namespace colock {

namespace {

/// How often the client looks whether it has something new to report.
constexpr milliseconds look_interval = decide::youngest_reported;

/// However much is new, the server gets no more reports than one in this time.
constexpr milliseconds least_between_reports{1'000};

/// Among more locks than these the client does not look for those that wait, because everything
/// else would wait for that.
constexpr std::size_t most_keys = 10'000;

}  // namespace

std::string default_label()
{
    auto const label_of = [](std::string const& host) {
        return host + ":" + std::to_string(process_id());
    };
    error_code unknown;
    auto const host = asio::ip::host_name(unknown);
    auto const label = label_of(host);
    return !host.empty() && decide::is_label(label) ? label : label_of("localhost");
}

reporting::reporting(core& owner)
    : core_{owner}
    , next_{[this] { send(); }}
    , next_look_{[this] { look(); }}
    , sending_{owner}
{}

void reporting::begin()
{
    if (limits().is_any()) {
        last_look_ = clock::now();
        core_.set_alarm(next_look_, long_times{limits(), last_look_, last_look_}.next_look());
    }
    auto const& label = core_.settings().label;
    if (label && !label->empty() && !is_off_)
        core_.set_alarm(next_, clock::now() + look_interval);
}

void reporting::stop()
{
    next_.clear();
    next_look_.clear();
}

long_times::limits reporting::limits() const
{
    return {core_.settings().warn_wait, core_.settings().warn_hold};
}

void reporting::look()
{
    auto const now = clock::now();
    long_times found{limits(), std::exchange(last_look_, now), now};
    if (limits().wait && core_.may_have_waits())
        core_.keyed_states().tell(found);
    core_.holds().tell(found);
    core_.set_alarm(next_look_, found.next_look());
    auto const write = [this](std::string_view kind, std::vector<std::string> const& lines) {
        for (auto const& line : lines)
            core_.log(log_level::warning, {std::string{kind}, {}, paced_log::of_locks}, [&] {
                return line;
            });
    };
    write("long waits", found.wait_lines());
    write("long holds", found.hold_lines());
}

// A report that still waits for a connection is out of date, and is taken back.
bool reporting::is_under_way()
{
    sending_.withdraw();
    return bool{sending_};
}

bool reporting::has_news(decide::client_report const& now) const
{
    auto const what = [](auto const& each) {
        return std::tie(each.waits, each.key, each.id, each.owner);
    };
    auto const is_new = [&](auto const& each) {
        return !std::ranges::any_of(told_->entries, [&](auto const& old) {
            return what(old) == what(each);
        });
    };
    return !told_ || std::ranges::any_of(now.entries, is_new);
}

bool reporting::is_due(decide::client_report const& now, milliseconds since_last) const
{
    if (now.entries.empty() && told_ && told_->entries.empty())
        return false;
    return since_last >= decide::report_beat ||
        (since_last >= least_between_reports && has_news(now));
}

strand_task reporting::send()
{
    auto const at = clock::now();
    core_.set_alarm(next_, at + look_interval);
    reported_presence now{at};
    now.told.client = core_.uuid();
    now.told.label = *core_.settings().label;
    core_.holds().tell(now);
    if (core_.may_have_waits()) {  // otherwise a walk over all held locks would find nothing
        if (core_.count.keys <= most_keys)
            core_.keyed_states().tell(now);
        else
            now.told.is_whole = false;
    }
    if (!is_due(now.told, std::chrono::duration_cast<milliseconds>(at - last_)) || is_under_way())
        co_return;
    last_ = at;
    told_.reset();
    auto const key = decide::client_report_key(core_.uuid(), core_.settings().key_prefix);
    auto const slot = decide::slot_of(key);
    script_call call{
        {&any_command,
         {key},
         {"SET",
          key,
          decide::write_client_report(now.told),
          "PX",
          std::to_string(decide::report_life.count())}},
        slot};
    answer const got = co_await sending_.send(call.call);
    if (got.what != answer::kind::replied)
        co_return;
    told_ = std::move(now.told);
    if (got.value.what == decide::reply::kind::error &&
        decide::classify(got.value.text) == decide::fault::refused)
        refused(got.value.text);
}

// Locks work as before, so this is said once.
void reporting::refused(std::string_view why)
{
    is_off_ = true;
    next_.clear();
    core_.log(log_level::warning, [&] {
        return "label: the server refuses " + core_.settings().key_prefix +
            "colock_client:*, so nobody sees who holds the locks of this client: " +
            std::string{why} + ". Remedy: allow +set on ~" + core_.settings().key_prefix +
            "colock_client:*, or config::label = \"\"";
    });
}

}  // namespace colock
