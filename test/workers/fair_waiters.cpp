// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A process in which many wait for one fair lock, until it is killed:
//
//     fair_waiters URL NAME COUNT
#include <colock/colock.hpp>

#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>

#include <exception>
#include <iostream>
#include <string>

int main(int count, char** words)
{
    if (count != 4)
        return 64;
    try {
        boost::asio::io_context context{1};
        colock::client redis{context.get_executor(), colock::config::from_url(words[1])};
        redis.run(boost::asio::detached);
        colock::fair_lock const mine{redis, words[2]};
        for (int i = std::stoi(words[3]); i != 0; --i)
            mine.acquire(boost::asio::detached);
        context.run();
        return 0;
    } catch (std::exception const& e) {
        std::cerr << e.what() << '\n';
        return 1;
    }
}
