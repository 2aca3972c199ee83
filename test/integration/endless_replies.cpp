// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A server, or whoever answers in its place, that sends more than anybody can hold.
#include "integration/suites.hpp"
#include "support/patience.hpp"
#include "support/scripted_server.hpp"

#include <fstream>
#include <ostream>
#include <string>
#include <vector>

namespace colock::test {

struct endless_reply {
    char const* name;
    std::string begin;
    std::string then;
    std::size_t most;  ///< what may be sent until the client has ended the connection
};

inline std::ostream& operator<<(std::ostream& to, endless_reply const& what)
{
    return to << what.name;
}

/// Far less than what is streamed in vain, far more than a socket's buffers hold.
constexpr std::size_t modest = std::size_t{96} << 20, in_vain = std::size_t{160} << 20;

inline std::vector<endless_reply> endless_replies()
{
    std::string const text(1 << 20, 'x');
    std::string numbers;
    while (numbers.size() < 1 << 20)
        numbers += ":1\r\n";
    std::string nested;
    while (nested.size() < 1 << 20)
        nested += "*1\r\n";
    // A length that is absurd is seen at once: no more is taken than what is under way already.
    constexpr std::size_t at_once = std::size_t{32} << 20;
    return {
        {"a bulk string of 2^63 - 1 bytes", "$9223372036854775807\r\n", text, at_once},
        {"a bulk string of 2^64 bytes", "$18446744073709551616\r\n", text, at_once},
        {"a bulk string of 100 GB", "$100000000000\r\n", text, at_once},
        {"a list of 2^63 - 1 values", "*9223372036854775807\r\n", numbers, at_once},
        {"a list of 10^9 values", "*1000000000\r\n", numbers, modest},
        {"lists in lists without end", "*1\r\n", nested, modest},
        {"a simple string without end", "+", text, modest},
        {"a number without end", ":", std::string(1 << 20, '1'), modest}};
}

/// The most memory that this process has had since this was asked last, in MiB.
inline std::size_t take_peak_memory()
{
    std::size_t kilobytes = 0;
    std::ifstream status{"/proc/self/status"};
    for (std::string line; std::getline(status, line);)
        if (line.starts_with("VmHWM:"))
            kilobytes = std::stoul(line.substr(6));
    std::ofstream{"/proc/self/clear_refs"} << "5";
    return kilobytes >> 10;
}

/// Whether the client ends the connection, and what was sent by then.
inline void check_end(endless_reply const& what, std::string const& verb)
{
    scripted_server server{[&](auto const& c) -> std::optional<scripted_server::answer> {
        if (!c.is(verb))
            return std::nullopt;
        return scripted_server::answer{what.begin, what.then, in_vain};
    }};
    lab at{server.by_port()};
    auto settings = at.settings();
    // So that not time ends it.
    settings.lease = 60s;
    settings.connect_timeout = 60s;
    settings.silence_timeout = 60s;
    settings.links = 1;
    auto& redis = at.connect(settings);
    take_peak_memory();
    auto const before = take_peak_memory();
    at.run_only([&]() -> asio::awaitable<void> {
        auto const [ec, none] =
            co_await lock{redis.client, unique_name("endless")}.try_acquire_for(300ms, tuple);
        BOOST_TEST(!none.has_value());
        bool const ended = co_await eventually([&] {
            return server.connections() > 1 || server.open_connections() == 0;
        });
        BOOST_TEST(ended, "the connection stands");
        BOOST_TEST(server.flooded() / server.connections() < what.most);
        BOOST_TEST(take_peak_memory() < before + within(400U));
    });
}

BOOST_AUTO_TEST_SUITE(endless)

BOOST_DATA_TEST_CASE(before_auth, boost::unit_test::data::make(endless_replies()), what)
{
    check_end(what, "HELLO");
}

BOOST_DATA_TEST_CASE(after_auth, boost::unit_test::data::make(endless_replies()), what)
{
    check_end(what, "EVALSHA");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
