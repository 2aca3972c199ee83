// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "redis/link_context.hpp"
#include "support/virtual_time.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/test/unit_test.hpp>

#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <unistd.h>

namespace colock::test {

/// What connections need of a client, in virtual time, and the server's end of one of them.
struct link_rig {
    using local = asio::local::stream_protocol;

    link_rig() { settings.log = {}; }
    ~link_rig() { std::filesystem::remove(path); }

    address where() const { return {.unix_socket = path}; }

    /// Lets time pass, and what is due act.
    void advance(milliseconds limit)
    {
        for (auto passed = milliseconds{0}; passed != limit; passed += milliseconds{1}) {
            agenda.run(clock::now());
            time.advance(milliseconds{1});
        }
    }

    /// The server's end of the next connection.
    local::socket accept()
    {
        time.settle();
        auto there = acceptor.accept();
        there.non_blocking(true);
        time.settle();
        return there;
    }

    static std::string path_of_its_own()
    {
        static int number = 0;
        return (std::filesystem::temp_directory_path() /
                ("colock-link-" + std::to_string(::getpid()) + "-" + std::to_string(number++)))
            .string();
    }

    asio::io_context context;
    virtual_time time{context};
    config settings;
    decide::agenda agenda;
    std::shared_ptr<int> life = std::make_shared<int>();
    bool context_gone = false;
    link_context shared{
        strand_type{context.get_executor()},
        settings,
        agenda,
        [] {},
        [] { return 0.5; },
        life,
        [this] { return context_gone; }};
    std::string path = path_of_its_own();
    local::acceptor acceptor{context, local::endpoint{path}};
};

/// All that has arrived. `ended`: the other side has closed.
inline std::string received(link_rig::local::socket& from, bool& ended)
{
    std::string all;
    std::array<char, 4'096> some;
    error_code ec;
    while (!ec) {
        auto const n = from.read_some(asio::buffer(some), ec);
        all.append(some.data(), n);
    }
    ended = ec == asio::error::eof;
    return all;
}

}  // namespace colock::test
