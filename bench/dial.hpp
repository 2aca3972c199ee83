#pragma once

#include <colock/config.hpp>

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>

namespace bench {

/// A plain connection, over TCP with TCP_NODELAY. Blocks until it is there; throws if it can't be.
boost::asio::generic::stream_protocol::socket
dial(boost::asio::io_context&, colock::address const&);

}  // namespace bench
