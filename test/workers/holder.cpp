// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A process that holds a lock, with a lease of a second that it renews, until it is killed:
//
//     holder URL KIND NAME        KIND is the name of one of family/kinds.hpp
#include "family/kinds.hpp"
#include "support/as_hold.hpp"

#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/mpl/for_each.hpp>

#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>
#include <utility>

namespace {

namespace asio = boost::asio;
using namespace colock::test;

asio::io_context context{1};
colock::hold held;

auto const keep = [](colock::error_code ec, auto got) {
    if (ec)
        throw std::runtime_error{ec.message()};
    held = as_hold(std::move(got));
};

void acquire(colock::client const& redis, std::string const& kind, std::string const& name)
{
    bool is_known = false;
    boost::mpl::for_each<exclusive>([&]<class Kind>(Kind) {
        if (kind != Kind::name)
            return;
        is_known = true;
        Kind::of(redis, name).acquire(keep);
    });
    if (!is_known)
        throw std::invalid_argument{"no such kind: " + kind};
}

}  // namespace

int main(int count, char** words)
{
    if (count != 4)
        return 64;
    try {
        auto settings = colock::config::from_url(words[1]);
        settings.lease = std::chrono::seconds{1};
        colock::client redis{context.get_executor(), settings};
        redis.run(asio::detached);
        acquire(redis, words[2], words[3]);
        context.run();
        return 0;
    } catch (std::exception const& e) {
        std::cerr << e.what() << '\n';
        return 1;
    }
}
