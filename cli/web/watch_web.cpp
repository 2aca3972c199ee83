// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
// colock watch --web: all locks on a page.
#include "commands.hpp"
#include "session.hpp"
#include "status.hpp"
#include "text.hpp"
#include "web/feed.hpp"
#include "web/reader.hpp"
#include "web/server.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/signal_set.hpp>

#include <csignal>
#include <cstdio>
#include <exception>

namespace cli {

namespace {

asio::awaitable<int> serve(session& s, options const& o)
{
    web::tcp::endpoint const wanted{asio::ip::make_address(o.web_address), *o.web_port};
    web::feed feed{s.context().get_executor()};
    web::reader reader{s, o, feed};
    web::server server{s.context().get_executor(), wanted, feed};
    co_await s.connect();
    co_await reader.check();
    asio::signal_set ends{s.context(), SIGINT, SIGTERM};
    reader.start();
    asio::co_spawn(s.context(), server.run(), [](std::exception_ptr e) {
        if (e)
            std::rethrow_exception(e);
    });
    if (!wanted.address().is_loopback())
        complain(
            "colock watch: " + o.web_address +
            " isn't this machine alone: whoever reaches the page sees the names of all locks"
        );
    std::puts(web::url_of(server.endpoint()).c_str());
    std::fflush(stdout);
    co_await ends.async_wait(asio::as_tuple(asio::deferred));
    co_await server.stop();
    co_return status_ok;
}

}  // namespace

int watch_web(options const& o)
{
    std::signal(SIGPIPE, SIG_IGN);  // a browser that has gone ends nothing
    session s{o, settings_of(o)};
    return s.run(serve(s, o));
}

}  // namespace cli
