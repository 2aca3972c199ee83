// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "base/timer.hpp"
#include "decide/alarm_queue.hpp"
#include "decide/reply.hpp"
#include "redis/connection_loop.hpp"
#include "resp/parser.hpp"

#include <boost/asio/io_context.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock::fuzz {

/// What must hold for each input. Ends the process, so that libFuzzer keeps the input.
inline void require(bool holds, char const* what)
{
    if (holds)
        return;
    std::fprintf(stderr, "does not hold: %s\n", what);
    std::abort();
}

/// What the parser makes of some bytes.
struct read_bytes {
    std::vector<decide::reply> replies{};  ///< and pushes
    bool is_broken = false;
    bool has_partial = false;
};

/// Reads them in pieces of that size.
read_bytes read(std::string_view bytes, std::size_t piece, resp::limits most = {});

/// The whole messages among the bytes.
std::vector<decide::reply> replies_in(std::string_view bytes);

/// Writes it as a server does.
std::string written(decide::reply const&);

bool is_same(decide::reply const&, decide::reply const&) noexcept;
bool is_same(read_bytes const&, read_bytes const&) noexcept;

/// What a link needs around it. It checks each log line. Time does nothing here: what a link puts
/// in the alarm queue stays there.
class link_lab {
public:
    static constexpr std::string_view secret = "colock-secret";

    explicit link_lab(config wanted)
        : settings{with_secret(std::move(wanted))}
        , context{
              asio::make_strand(asio::any_io_executor{io.get_executor()}),
              settings,
              log_,
              alarms,
              [] {},
              [] { return 0.5; },
              life_,
              [] { return false; }}
    {
        settings.log = {
            [](log_level, std::string_view line) { check_line(line); }, log_level::debug};
    }

    asio::io_context io{1};
    decide::alarm_queue alarms;
    config settings;

private:
    static config with_secret(config c)
    {
        c.username = "somebody";
        c.password = secret;
        return c;
    }

    static void check_line(std::string_view line)
    {
        require(line.find(secret) == line.npos, "no line shows the password");
        require(
            std::ranges::none_of(line, [](unsigned char c) { return c < 0x20 || c == 0x7f; }),
            "no line has a control character"
        );
    }

    std::shared_ptr<int> life_ = std::make_shared<int>(0);
    paced_log log_{settings.log, [](time_point) {}};

public:
    link_context context;
};

/// What a link's connection calls. A link keeps it from others, so the cast has to be that of C,
/// which may look behind a private base.
template <class Link>
connection_loop::listener& listener_of(Link& link) noexcept
{
    return (connection_loop::listener&)link;
}

}  // namespace colock::fuzz
