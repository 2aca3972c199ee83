#include "core/event_log.hpp"

#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace colock {

namespace {

std::string shown(std::string_view name, std::string_view holder)
{
    return std::string{name}.append(" (").append(holder).append(")");
}

std::string text_of(events::lost const& e)
{
    return "hold " + shown(e.name, e.holder) + ": lost: " + std::string{e.cause} +
        "; stop the work it protects";
}

std::string text_of(events::found_lost const& e)
{
    return "release " + shown(e.name, e.holder) + ": " + std::string{e.cause} +
        "; another owner may have had it while the work went on";
}

std::string text_of(events::no_permits_set const& e)
{
    return "permits of " + std::string{e.name} +
        ": the semaphore does not exist, so its callers wait until somebody sets it. Remedy: "
        "try_set_permits, or name the limit where the semaphore is named";
}

std::string text_of(events::subscription_failed const& e)
{
    return "subscribe to " + std::string{e.channel} +
        ": refused by the server: " + std::string{e.cause} +
        "; waiters ask again when the lease ends and at the poll cap, and holders learn at their "
        "next renewal that their lock was forced. Remedy: allow the user this channel";
}

}  // namespace

void log_event(paced_log& to, client_event const& what)
{
    auto const warn = [&to](paced_log::kind const& of, std::string line) {
        to.write(log_level::warning, of, std::move(line));
    };
    std::visit(
        overloaded{
            [&](events::lost const& e) {
                warn({"lost", {}, paced_log::of_locks}, text_of(e));
            },
            [&](events::found_lost const& e) {
                warn({"found lost", {}, paced_log::of_locks}, text_of(e));
            },
            [&](events::no_permits_set const& e) {
                warn({"no semaphore " + std::string{e.name}}, text_of(e));
            },
            [&](events::subscription_failed const& e) { warn({"subscribe"}, text_of(e)); },
            [](auto const&) {}},
        what
    );
}

}  // namespace colock
