// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "redis/call_batch.hpp"
#include "redis/link_context.hpp"
#include "support/virtual_time.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <deque>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <sys/socket.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace colock::test {

using decide::reply;

/// Steps with texts of their own, handed over in this order.
struct steps_to_send {
    struct owned {
        std::string_view keys[2];
        std::string_view arguments[3];
        std::optional<step> call;
    };

    step& add(
        scripts::script const& what,
        std::string_view key,
        std::vector<std::string_view> const& arguments,
        std::string_view counter = {}
    )
    {
        auto& o = all.emplace_back();
        o.keys[0] = key;
        o.keys[1] = counter;
        std::ranges::copy(arguments, o.arguments);
        o.call.emplace(
            what,
            0U,
            std::span{o.keys}.first(counter.empty() ? 1 : 2),
            std::span{o.arguments}.first(arguments.size())
        );
        waiting.push_back(*o.call);
        return *o.call;
    }
    ~steps_to_send() { waiting.clear(); }

    std::deque<owned> all;
    step_list waiting;
};

/// A batch, what it writes, and what becomes of its steps.
class sent_batch final : private call_batch::listener {
public:
    explicit sent_batch(step_list& from, call_batch::manner how = {}, bool is_numbered = false)
    {
        if (is_numbered)
            how.numbers = &pipeline_;
        batch_->fill(from, how, pipeline_.out(), {});
        read_commands();
        pipeline_.expect(batch_.get(), {});
    }

    struct outcome {
        reply value;
        bool in_company = false;
    };

    /// Takes in what the server answers. None of it may break the connection.
    void receive(std::string_view bytes)
    {
        auto const room = pipeline_.prepare();
        BOOST_TEST_REQUIRE(room.size() >= bytes.size());
        std::ranges::copy(bytes, room.begin());
        BOOST_TEST(!pipeline_.received(bytes.size(), {}));
    }
    void lose() { pipeline_.fail(error::unavailable); }

    /// What was written since.
    std::string written()
    {
        std::string bytes;
        pipeline_.take_output(bytes);
        return bytes;
    }

    std::map<step const*, outcome> answers;
    std::vector<step const*> lost;
    std::vector<std::string> order;  ///< of the steps, by their scripts
    std::vector<std::vector<std::string>> commands;
    bool is_over = false;

private:
    void on_step(step& s, reply&& value, bool in_company, time_point) override
    {
        answers[&s] = {std::move(value), in_company};
    }
    void on_step_lost(step& s, time_point) override { lost.push_back(&s); }
    void on_batch_over(call_batch&) override { is_over = true; }

    void read_commands()
    {
        for (auto const* s : batch_->steps())
            order.emplace_back(s->what.name);
        std::string_view rest = pipeline_.out().bytes();
        auto const number = [&] {
            auto const end = rest.find("\r\n");
            auto const n = std::stoul(std::string{rest.substr(1, end - 1)});
            rest.remove_prefix(end + 2);
            return n;
        };
        while (!rest.empty()) {
            auto& words = commands.emplace_back();
            for (auto left = number(); left != 0; --left) {
                auto const length = number();
                words.emplace_back(rest.substr(0, length));
                rest.remove_prefix(length + 2);
            }
        }
    }

    resp::pipeline pipeline_{{}, {}, nullptr};
    std::shared_ptr<call_batch> batch_ =
        std::make_shared<call_batch>(static_cast<call_batch::listener&>(*this));
};

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
            alarms.run(clock::now());
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
    decide::alarm_queue alarms;
    paced_log log{settings.log, [this](time_point at) {
                      at == never ? log_due.clear() : void(alarms.set(log_due, at));
                  }};
    decide::alarm_queue::alarm log_due{[this] { log.catch_up(); }};
    std::shared_ptr<int> life = std::make_shared<int>();
    bool context_gone = false;
    link_context shared{
        strand_type{context.get_executor()},
        settings,
        log,
        alarms,
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
