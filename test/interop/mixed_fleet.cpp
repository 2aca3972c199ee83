// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "interop/mixed_fleet.hpp"
#include "interop/peer.hpp"
#include "support/places.hpp"
#include "support/shared_memory.hpp"

#include <boost/test/unit_test.hpp>

#include <list>
#include <numeric>
#include <poll.h>
#include <sstream>
#include <vector>

namespace colock::test {

namespace {

/// What a process has had.
struct share {
    int sections = 0;
    int turns = 0;
};

int sum_of(std::vector<share> const& all, int share::*which)
{
    return std::accumulate(all.begin(), all.end(), 0, [which](int sum, share const& each) {
        return sum + each.*which;
    });
}

class fleet {
public:
    fleet(std::string kind, fleet_size const& size) : kind_{std::move(kind)}, size_{size}
    {
        board_.add(scoreboard::expected, size.jvms + size.of_ours);
        for (int i = 0; i != size.jvms; ++i)
            jvms_.emplace_back(server_);
        for (auto& jvm : jvms_)
            calls_.push_back(jvm.begin(
                "fleet",
                "fleet",
                kind_,
                name_,
                std::int64_t{size.tasks},
                std::int64_t{size.sections},
                std::int64_t{size.stay.count()},
                file_.path()
            ));
        for (int i = 0; i != size.of_ours; ++i)
            ours_.emplace_back(std::vector<std::string>{
                beside_this_program("colock-interop-fleet"),
                "unix://" + server_.unix_socket(),
                kind_,
                name_,
                std::to_string(size.tasks),
                std::to_string(size.sections),
                std::to_string(size.stay.count()),
                file_.path(),
                std::to_string(size.max_tenure.count())});
    }

    /// First the JVMs', who release after each section.
    std::vector<share> shares()
    {
        std::vector<share> all;
        for (auto const& call : calls_) {
            wait([&] { return call.is_done(); });
            int const sections = std::stoi(result(call));
            all.push_back({sections, sections});
        }
        for (auto& each : ours_) {
            std::optional<std::string> line;
            wait([&] { return (line = each.hear()).has_value(); });
            share ours;
            std::istringstream{line.value()} >> ours.sections >> ours.turns;
            all.push_back(ours);
        }
        return all;
    }

    scoreboard& board() noexcept { return board_; }

private:
    template <class Done>
    void wait(Done const& done)
    {
        while (!done()) {
            if (watch_.ms() > milliseconds{size_.limit}.count())
                throw std::runtime_error{
                    "mixed fleet: no end; sections: " +
                    std::to_string(board_.get(scoreboard::sections))};
            ::poll(nullptr, 0, 5);
        }
    }

    std::string result(java_peer::call const& of)
    {
        java_peer::outcome got;
        lab at{server_};
        at.run_only([&]() -> asio::awaitable<void> { got = co_await of.wait(); });
        BOOST_REQUIRE(!got.failed);
        return got.text;
    }

    std::string kind_;
    fleet_size size_;
    redis_server server_;
    std::string name_ = unique_name("fleet");
    temporary_file file_;
    scoreboard board_{file_.path()};
    stopwatch watch_;
    std::list<java_peer> jvms_;
    std::vector<java_peer::call> calls_;
    std::list<line_process> ours_;
};

}  // namespace

void fleet_of(std::string const& kind, fleet_size const& size)
{
    fleet all{kind, size};
    stopwatch const watch;
    auto const shares = all.shares();
    auto const sections = sum_of(shares, &share::sections);
    auto const turns = sum_of(shares, &share::turns);
    std::ostringstream list;
    for (auto const& each : shares)
        list << ' ' << each.sections << '/' << each.turns;
    BOOST_TEST_MESSAGE(
        sections << " sections in " << watch.ms()
                 << " ms; sections/turns of JVMs, then ours:" << list.str()
    );
    BOOST_TEST(all.board().get(scoreboard::overlaps) == 0);
    BOOST_TEST(all.board().get(scoreboard::sections) == sections);
    BOOST_TEST(sections >= size.sections);
    for (auto const& each : shares)
        BOOST_TEST(each.turns >= size.least_share * turns, list.str() << ", of " << turns);
}

}  // namespace colock::test
