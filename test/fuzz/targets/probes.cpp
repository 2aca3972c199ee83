// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What a server says of itself when a connection has come up: its number, time, INFO, what the
// user may do, the scripts, the map of its cluster. Each link judges it; an answer that it takes
// is one, it refuses for a reason, and its log lines show no password.
#include "fuzz/link_lab.hpp"
#include "fuzz/wire.hpp"
#include "redis/cluster_scout.hpp"
#include "redis/command_link.hpp"
#include "redis/push_link.hpp"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace colock::fuzz {

using decide::reply;

namespace {

struct nobody final : command_link::listener, push_link::listener {
    void on_command_link_up(command_link&) override {}
    void on_command_link_down(command_link&, error_code) override {}
    void on_command_link_failed(command_link&) override {}
    void on_redirect(command_link&, step&, decide::redirection const&, time_point) override {}
    void on_push_link_up(push_link&) override {}
    void on_push_link_down(push_link&) override {}
    void on_confirmed(push_link&, std::string_view) override {}
    void on_refused(push_link&, std::string_view, std::string_view) override {}
    void on_changed(push_link&) override {}
    void on_ended(push_link&, std::string_view) override {}
    void on_published(std::string_view, std::string_view) override {}
};

struct map_reader final : cluster_scout::listener {
    void on_map(std::vector<decide::slot_range> const& ranges, bool) override
    {
        for (auto const& range : ranges)
            require(
                range.first < decide::slot_count && range.last < decide::slot_count &&
                    range.primary.port != 0,
                "a map is in range"
            );
    }
    void on_scout_refused(error_code) override {}
    bool is_content() const override { return content; }
    bool content = true;
};

bool is_error(reply const& r) noexcept { return r.what == reply::kind::error; }

void check_verdict(error_code ec)
{
    require(
        !ec || ec == error::unavailable || ec == error::wrong_topology ||
            ec == error::server_refused || ec == error::bad_reply,
        "a verdict is one of four"
    );
}

/// One connection after the other: each has four answers, and one for all scripts.
void judge_commands(link_lab& lab, publishing how, std::vector<reply> const& got)
{
    constexpr std::size_t places = 4;
    nobody none;
    command_link link{lab.context, none, {"commands", 0, address{}, how}};
    for (std::size_t at = 0; at + places < got.size(); at += places + 1) {
        auto const from = got.begin() + static_cast<std::ptrdiff_t>(at);
        std::vector<reply> probed(from, from + places);
        probed.resize(places + scripts::all.size(), from[places]);
        auto const ec = owner_of(link).judge_probe(probed);
        check_verdict(ec);
        require(
            ec || from[1].what == reply::kind::list || !lab.settings.fencing,
            "without a time there are no tokens"
        );
    }
    check_verdict(owner_of(link).judge_probe(got));
}

void judge_map(link_lab& lab, std::vector<reply> const& got, bool is_content)
{
    map_reader reader;
    reader.content = is_content;
    cluster_scout scout{lab.context, reader};
    auto& owner = owner_of(scout);
    for (std::size_t at = 0; at + 1 < got.size(); at += 2) {
        auto const ec = owner.judge_probe({got[at], got[at + 1]});
        check_verdict(ec);
        if (ec)
            owner.on_failed(ec);
        else {
            owner.on_up();
            owner.on_down(error::unavailable);
        }
    }
}

void judge_ping(link_lab& lab, std::vector<reply> const& got)
{
    nobody none;
    push_link link{lab.context, none, "pushes", 0, address{}};
    for (auto const& r : got) {
        auto const ec = owner_of(link).judge_probe({r});
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
    auto const bytes = input.substr(1);
    constexpr publishing ways[]{
        publishing::plain, publishing::sharded, publishing::both, publishing::plain};
    config c;
    c.topology = (choice & 1U) != 0 ? topology::cluster : topology::single;
    c.fencing = (choice & 2U) == 0;
    link_lab lab{c};
    auto const got = replies_in(bytes);
    judge_commands(lab, ways[choice >> 2U & 3U], got);
    judge_map(lab, got, (choice & 16U) == 0);
    judge_ping(lab, got);
    lab.check_lines(bytes);
}

}  // namespace colock::fuzz
