#include "dial.hpp"

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>

#include <stdexcept>

namespace bench {

namespace asio = boost::asio;

asio::generic::stream_protocol::socket dial(asio::io_context& context, colock::address const& where)
{
    try {
        if (!where.unix_socket.empty()) {
            asio::local::stream_protocol::socket s{context};
            s.connect(where.unix_socket);
            return s;
        }
        asio::ip::tcp::socket s{context};
        asio::connect(
            s, asio::ip::tcp::resolver{context}.resolve(where.host, std::to_string(where.port))
        );
        s.set_option(asio::ip::tcp::no_delay{true});
        return s;
    } catch (boost::system::system_error const& e) {
        throw std::runtime_error("no connection to the server: " + e.code().message());
    }
}

}  // namespace bench
