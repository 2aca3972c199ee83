// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "redis/call_batch.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
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
    explicit sent_batch(step_list& from, call_batch::manner how = {})
    {
        batch_->fill(from, how, pipeline_.out(), {});
        read_commands();
        pipeline_.expect(batch_.get(), {});
    }

    struct outcome {
        reply value;
        error_code unsynced;
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

    std::map<step const*, outcome> answers;
    std::vector<step const*> lost;
    std::vector<std::string> order;  ///< of the steps, by their scripts
    std::vector<std::vector<std::string>> commands;
    bool is_over = false;

private:
    void on_step(step& s, reply&& value, bool, time_point, error_code unsynced) override
    {
        answers[&s] = {std::move(value), unsynced};
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

}  // namespace colock::test
