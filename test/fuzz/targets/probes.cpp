// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What a server says when a connection is new: the answers to HELLO and SELECT, the connection's
// number, INFO, what the user may do, the map of the cluster. The set-up and each link
// judge it. A verdict is one of a few errors or none, what is accepted is in range, and no log line
// shows the password.
#include "fuzz/fuzz.hpp"
#include "redis/command_link.hpp"
#include "redis/link_settings.hpp"
#include "redis/permissions.hpp"
#include "redis/pubsub_link.hpp"
#include "redis/set_up.hpp"
#include "redis/topology_refresher.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace colock::fuzz {

using decide::reply;

namespace {

struct nobody final : command_link::listener, pubsub_link::listener {
    void on_command_link_up(command_link&) override {}
    void on_command_link_down(command_link&, error_code) override {}
    void on_command_link_failed(command_link&) override {}
    void on_redirect(command_link&, step&, decide::redirection const&, time_point) override {}
    void on_pubsub_link_up(pubsub_link&) override {}
    void on_pubsub_link_down(pubsub_link&, error_code) override {}
    void on_confirmed(pubsub_link&, std::string_view) override {}
    void on_refused(pubsub_link&, std::string_view, std::string_view) override {}
    void on_changed(pubsub_link&) override {}
    void on_ended(pubsub_link&, std::string_view) override {}
    void on_published(pubsub_link&, std::string_view, std::string_view) override {}
};

struct map_reader final : topology_refresher::listener {
    void on_map(std::vector<decide::slot_range> const& ranges, bool) override
    {
        for (auto const& range : ranges)
            require(
                range.first < decide::slot_count && range.last < decide::slot_count &&
                    range.primary.port != 0,
                "a map is in range"
            );
    }
    void on_refresh_refused(detail::failure) override {}
    bool is_content() const override { return content; }
    bool content = true;
};

bool is_error(reply const& r) noexcept { return r.what == reply::kind::error; }

/// Anything in it has this text.
bool has_text(reply const& r, std::string_view text)
{
    return r.text.find(text) != r.text.npos ||
        std::ranges::any_of(r.items, [text](auto const& each) { return has_text(each, text); });
}

void check_verdict(error_code ec)
{
    require(
        !ec || ec == error::unavailable || ec == error::wrong_topology ||
            ec == error::server_refused || ec == error::bad_reply,
        "a verdict is one of four"
    );
}

/// As if the answers to HELLO and SELECT were the first of these.
void judge_set_up(config const& c, std::span<reply const> got)
{
    credentials const who{c.username, c.password};
    for (auto const wanted : {set_up::role::any, set_up::role::primary}) {
        auto const first = set_up_of_servers(c, who, wanted);
        auto const [ec, words, is_replica] = first.judge(got);
        check_verdict(ec);
        require(ec != error::wrong_topology, "a set-up does not know the topology");
        if (!ec) {
            require(got.size() >= first.replies(), "what is accepted has answered");
            require(got.front().what == reply::kind::list, "HELLO is answered by a map");
            require(c.database == 0 || !is_error(got[1]), "the database was selected");
            require(words.empty() || is_replica, "what is accepted needs no words");
        }
        require(
            redacted(words, c).find(c.password) == words.npos &&
                permission_remedy(words, c).find(c.password) == words.npos,
            "no words show the password"
        );
    }
}

/// One connection after the other. Each has three answers; the fourth is for the set-up alone.
void judge_commands(link_lab& lab, publishing how, std::vector<reply> const& got)
{
    constexpr std::size_t places = 3;
    nobody none;
    command_link link{lab.context, none, {"commands", 0, address{}, how}};
    for (std::size_t at = 0; at + places <= got.size(); at += places + 1) {
        auto const from = got.begin() + static_cast<std::ptrdiff_t>(at);
        check_verdict(listener_of(link).judge_probe({from, from + places}));
    }
    if (got.size() != places)
        require(
            listener_of(link).judge_probe(got) == error::bad_reply, "a probe has so many answers"
        );
}

void judge_map(link_lab& lab, std::vector<reply> const& got, bool is_content)
{
    map_reader reader;
    reader.content = is_content;
    topology_refresher refresher{lab.context, reader};
    topology_refresher::asker asker{refresher, address{}};
    auto& listener = listener_of(asker);
    for (std::size_t at = 0; at + 1 < got.size(); at += 2) {
        // Log lines name hosts as the cluster does.
        if (!is_error(got[at]) && has_text(got[at], link_lab::secret))
            continue;
        auto const ec = listener.judge_probe({got[at], got[at + 1]});
        check_verdict(ec);
        if (ec)
            listener.on_failed(ec);
        else {
            listener.on_up();
            listener.on_down(error::unavailable);
        }
    }
}

void judge_ping(link_lab& lab, std::vector<reply> const& got)
{
    nobody none;
    pubsub_link link{lab.context, none, "pushes", 0, address{}};
    for (auto const& r : got) {
        auto const ec = listener_of(link).judge_probe({r});
        bool const is_there = !is_error(r) || decide::classify(r.text) == decide::fault::passing;
        require(ec.failed() != is_there, "a PING is answered or refused");
    }
}

}  // namespace

void probes(std::string_view input);

// The first byte says what the client is like.
void probes(std::string_view input)
{
    if (input.empty())
        return;
    auto const choice = static_cast<unsigned char>(input.front());
    constexpr publishing ways[]{
        publishing::plain, publishing::sharded, publishing::both, publishing::plain};
    config c;
    c.topology = (choice & 1U) != 0 ? topology::cluster : topology::single;
    c.fencing = (choice & 2U) == 0;
    c.database = (choice & 32U) != 0 ? 3 : 0;
    link_lab lab{c};
    auto const got = replies_in(input.substr(1));
    for (std::size_t at = 0; at <= got.size(); ++at)
        judge_set_up(lab.settings, std::span{got}.subspan(at));
    judge_commands(lab, ways[choice >> 2U & 3U], got);
    judge_map(lab, got, (choice & 16U) == 0);
    judge_ping(lab, got);
}

}  // namespace colock::fuzz
