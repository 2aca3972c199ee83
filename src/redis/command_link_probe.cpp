// The first questions of a command link on each connection, and its use of the answers.
#include "redis/command_link.hpp"
#include "redis/link_settings.hpp"
#include "redis/permissions.hpp"

#include <algorithm>
#include <utility>

namespace colock {

using decide::reply;

namespace {

// Places of the replies in the probe.
enum probe_place : std::size_t { place_id, place_info, place_rights, places };

/// The value of `key` in a section of INFO, or nothing.
std::string info_field(std::string_view text, std::string_view key)
{
    auto const at = text.find(key);
    if (at == text.npos)
        return {};
    auto const value = text.substr(at + key.size());
    return std::string{value.substr(0, value.find_first_of("\r\n"))};
}

/// Below 0 if it is not a number; the values here are never negative.
std::int64_t integer_of(reply const& r) { return decide::number_of<std::int64_t>(r).value_or(-1); }

}  // namespace

void command_link::write_probe(resp::writer& to)
{
    to.push("CLIENT", "ID");
    to.push("INFO", "server");
    pubsub_permission_probe(to, context_.settings, description_.publish);
}

error_code command_link::judge_probe(replies const& got)
{
    if (got.size() != places)
        return error::bad_reply;
    for (auto const& r : got)
        if (r.what == reply::kind::error && decide::classify(r.text) == decide::fault::not_now)
            return error::unavailable;
    auto const& info = got[place_info].text;
    auto const mode = info_field(info, "redis_mode:");
    if (auto const ec = judge_mode(mode.empty() ? info_field(info, "server_mode:") : mode))
        return ec;
    if (auto const ec = judge_rights(got[place_rights]))
        return ec;

    // Connection numbers begin again when the server restarts, so the old number means the old
    // connection only if the server is the same.
    auto const run_id = info_field(info, "run_id:");
    if (run_id.empty() || run_id != run_id_) {
        // A server that does not say its name may be the one that was there before.
        others_ended_ = !run_id.empty() || (others_ended_ && !carried_);
        predecessor_ = 0;
        known_.clear();
    } else if (std::exchange(carried_, false)) {
        predecessor_ = connection_id_;  // otherwise the one before, perhaps not killed yet
        others_ended_ = others_ended_ && predecessor_ != 0;
    }
    run_id_ = run_id;
    connection_id_ = std::max(std::int64_t{0}, integer_of(got[place_id]));
    return {};
}

error_code command_link::judge_rights(reply const& rights)
{
    auto const missing = judge_permissions(rights, context_.settings, description_.publish);
    if (!missing.refusal.empty())
        return refuse(missing.refusal);
    eval_only_ = missing.by_text;
    bool const by_cluster = context_.settings.topology == topology::cluster;
    auto const server = by_cluster ? describe(loop_->where()) + ": " : std::string{};
    for (auto const& line : missing.warnings)
        context_.warn_once(server + line);
    return {};
}

error_code command_link::refuse(std::string const& why) const
{
    loop_->say(log_level::error, "refuses", why, why);
    return error::server_refused;
}

// A node of a cluster would refuse most names, but perhaps not the first one. Some clusters say
// "standalone" of each node; the map that has led here says more.
error_code command_link::judge_mode(std::string const& mode) const
{
    bool const by_cluster = context_.settings.topology == topology::cluster;
    char const* remedy = mode == "sentinel" ? "redis+sentinel://"
        : mode == "cluster" && !by_cluster  ? "redis+cluster://"
                                            : nullptr;
    if (!remedy)
        return {};
    loop_->say(
        log_level::error,
        "mode",
        mode,
        describe(loop_->where()) + " runs in mode " + mode +
            ", which is not that of the URL. Remedy: " + remedy
    );
    return error::wrong_topology;
}

}  // namespace colock
