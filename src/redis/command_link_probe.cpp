// The first questions of a command link on each connection, and its use of the answers.
#include "redis/command_link.hpp"
#include "redis/link_settings.hpp"
#include "redis/permissions.hpp"

#include <algorithm>
#include <span>
#include <string>
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

/// How many replicas are attached, by two ways, because a user may be refused one, and a connection
/// that has written counts others; and whether there is an AOF, which WAITAOF says at once.
void write_copies_questions(resp::writer& to, bool disk)
{
    to.push("WAIT", 0, 0);
    to.push("INFO", "replication");
    if (disk)
        to.push("WAITAOF", 1, 0, 1);
}
std::size_t copies_questions(bool disk) { return disk ? 3 : 2; }

/// Servers that a link remembers when it has left them.
constexpr std::size_t most_left = 16;

/// The answers of a server may have changed after this.
constexpr milliseconds between_copies_questions{1'000};

/// Below 0 if it is not a number; the values here are never negative.
std::int64_t integer_of(reply const& r) { return decide::number_of<std::int64_t>(r).value_or(-1); }

}  // namespace

void command_link::write_probe(resp::writer& to)
{
    to.push("CLIENT", "ID");
    to.push("INFO", "server");
    pubsub_permission_probe(to, context_.settings, description_.publish);
    if (context_.settings.durability != durability::none)
        write_copies_questions(to, context_.settings.durability == durability::disk);
}

error_code command_link::judge_probe(replies const& got)
{
    auto const usual = context_.settings.durability;
    bool const asks_disk = usual == durability::disk;
    auto const asked = usual == durability::none ? 0U : copies_questions(asks_disk);
    if (got.size() != places + asked)
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

    auto const run_id = info_field(info, "run_id:");
    if (run_id.empty() || run_id != run_id_) {
        leave_server();
        come_to_server(run_id);
    } else if (std::exchange(carried_, false)) {
        predecessor_ = connection_id_;  // otherwise the one before, perhaps not killed yet
        others_ended_ = others_ended_ && predecessor_ != 0;
    }
    run_id_ = run_id;
    connection_id_ = std::max(std::int64_t{0}, integer_of(got[place_id]));
    if (asked != 0)
        note_copies(std::span{got}.subspan(places), asks_disk);
    return {};
}

// Connection numbers begin again when the server restarts, so the old number means the old
// connection only if the server is the same.
void command_link::leave_server()
{
    if (run_id_.empty() || (!carried_ && predecessor_ == 0))
        return;
    std::erase_if(left_, [this](auto const& each) { return each.run_id == run_id_; });
    if (left_.size() == most_left)
        left_.erase(left_.begin());
    left_.push_back({run_id_, carried_ ? connection_id_ : predecessor_, others_ended_});
}

// A server that does not say its name may be the one that was there before. One that was left may
// be reached again, as when a name leads to several servers; of too many the first are forgotten.
void command_link::come_to_server(std::string_view run_id)
{
    auto const back =
        std::ranges::find_if(left_, [&](auto const& each) { return each.run_id == run_id; });
    if (back != left_.end()) {
        predecessor_ = back->connection;
        others_ended_ = back->others_ended && predecessor_ != 0;
    } else {
        predecessor_ = 0;
        others_ended_ = run_id.empty() ? others_ended_ && !carried_ : left_.size() != most_left;
    }
    carried_ = carried_ && run_id_.empty();
    known_.clear();
}

// ---- Copies ------------------------------------------------------------------------------------

// True if steps that want copies may go. Otherwise the server is asked what it can have, and they
// go, or are refused, when it has answered.
bool command_link::knows_copies(time_point now)
{
    if (is_asking_copies_)
        return false;
    auto const wanted = std::exchange(wanted_, {});
    bool const disk = wanted.wants_disk();
    bool const is_asked = copies_asked_ != time_point{} && (!disk || is_disk_asked_);
    bool const is_old = now - copies_asked_ >= between_copies_questions;
    if (!is_asked || (is_old && !why_not(wanted).empty())) {
        wanted_ = wanted;
        ask_for_copies(disk);
        return false;
    }
    if (why_not(wanted).empty())
        return true;
    refuse_copies();
    return false;
}

void command_link::ask_for_copies(bool disk)
{
    is_asking_copies_ = true;
    loop_->ask(
        [disk](resp::writer& out) { write_copies_questions(out, disk); },
        [this, disk](error_code ec, replies const& got) {
            is_asking_copies_ = false;
            if (ec)
                return;  // the connection is lost, and the next one is asked again
            note_copies(got, disk);
            schedule_flush();
        }
    );
}

void command_link::note_copies(std::span<reply const> got, bool disk)
{
    auto const is_refused = [](reply const& r) {
        return r.what == reply::kind::error && decide::classify(r.text) == decide::fault::refused &&
            r.text.find("replica instances") == std::string::npos;
    };
    copies_asked_ = clock::now();
    auto const attached = integer_of(got[0]);
    copies_told_.is_wait_refused = is_refused(got[0]);
    auto const listed =
        decide::number_of<unsigned>(info_field(got[1].text, "connected_slaves:")).value_or(0);
    replicas_there(std::max(listed, static_cast<unsigned>(std::max<std::int64_t>(attached, 0))));
    if (!disk)
        return;
    is_disk_asked_ = true;
    copies_told_.has_no_aof = got[2].text.find("appendonly is disabled") != std::string::npos;
    copies_told_.is_disk_refused = is_refused(got[2]) && !copies_told_.has_no_aof;
}

std::string command_link::why_not(decide::copies const& wanted)
{
    return copies_told_.why_not(wanted, replicas_there(0));
}

/// Those that can never have their copies are not sent, and the others are.
void command_link::refuse_copies()
{
    step_list refused;
    for (auto at = waiting_.begin(); at != waiting_.end();)
        if (step& s = *at++; !why_not(s.wants).empty()) {
            s.unlink();
            refused.push_back(s);
        }
    if (!waiting_.empty())
        schedule_flush();
    for_each_taken(std::move(refused), alive_, [this](step& s) {
        auto const why = why_not(s.wants);
        loop_->say(
            log_level::error,
            "copies",
            why,
            describe(loop_->where()) + ": its locks can never have their copies: " + why
        );
        s.answered.set({answer::kind::failed, {}, error::unsupported, {}});
    });
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
    loop_->explain(why);
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
