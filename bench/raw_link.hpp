#pragma once

#include <colock/config.hpp>

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>

#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

namespace asio = boost::asio;

/// Sends commands and is told of each reply.
class raw_caller {
public:
    /// `granted` is false for an error, and for a list in which something else stands than numbers
    /// behind the number of the call.
    virtual void answered(bool granted) = 0;

protected:
    ~raw_caller() = default;
};

/// A connection without anything that a client library adds: each command is written at once by a
/// system call of its own, and replies go to the callers in the order of the commands.
class raw_link {
public:
    /// Connects, and blocks until it has. Throws if it can't.
    raw_link(asio::io_context&, colock::address const&);

    /// `who` must live until it is answered.
    void send(std::string_view command, raw_caller& who);

    void close();

private:
    /// Returns how many bytes the socket has taken.
    std::size_t write(std::string_view text);

    void flush_when_writable();
    void read();
    void take_replies();

    asio::generic::stream_protocol::socket socket_;
    std::deque<raw_caller*> owed_;
    std::vector<char> buffer_ = std::vector<char>(65536);
    std::size_t filled_ = 0;
    std::string unsent_;  // of a full socket
};

/// A reply at the front of a text.
struct raw_reply {
    std::size_t size = 0;  // 0: not all of it is there
    bool granted = true;
};

raw_reply front_reply(std::string_view text);

}  // namespace bench
