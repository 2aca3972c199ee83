#pragma once

#include "plan.hpp"

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>

namespace bench {

/// What the server has spent up to a moment, or between two.
struct server_usage {
    double cpu_seconds = 0;
    double script_seconds = 0;  // in EVALSHA, with all that the scripts call

    // Bytes from and to all clients, without those of server_info.
    std::int64_t received = 0;
    std::int64_t sent = 0;
    std::map<std::string, std::int64_t> calls;

    server_usage since(server_usage const& earlier) const;

    /// The commands that clients send to lock and to wait, scripts counted as one; neither those
    /// that scripts call nor those that set a connection up.
    std::int64_t wire_commands() const;
};

/// A blocking connection beside the client's, for what the server says of itself.
class server_info {
public:
    explicit server_info(plan const&);

    server_usage usage();

    bool exists(std::string_view key);

    /// A number that stands in a section of INFO; 0 if it doesn't.
    double number(std::string_view section, std::string_view name);

    /// From here on this connection is good for `next_monitor_line` alone.
    void begin_monitor();

    /// Blocks until some client has sent a command.
    std::string next_monitor_line();

private:
    std::string ask(std::initializer_list<std::string_view> command);
    std::string line();
    std::string bulk(std::initializer_list<std::string_view> command);

    boost::asio::io_context context_;
    boost::asio::generic::stream_protocol::socket socket_;
    std::string buffer_;
    std::int64_t own_sent_ = 0;
    std::int64_t own_received_ = 0;
};

}  // namespace bench
