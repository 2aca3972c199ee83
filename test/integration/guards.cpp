// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// The failure paths of what the pages show: nothing stays behind in a real server.
#include "integration/suites.hpp"
#include "support/patience.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <stdexcept>

namespace colock::test {

BOOST_AUTO_TEST_SUITE(guards)

BOOST_DATA_TEST_CASE(a_cancelled_section_gives_its_permits_back, each_server(), kind)
{
    auto& server = shared_server(kind);
    lab at{server};
    auto& c = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        semaphore const partner{c.client, unique_name("partner")};
        co_await partner.try_set_permits(3);
        asio::cancellation_signal cancel;
        bool ended = false;
        auto section = with_permits(partner, 2, []() -> asio::awaitable<void> {
            asio::steady_timer work{co_await asio::this_coro::executor, 10s};
            co_await work.async_wait(asio::deferred);
        });
        asio::co_spawn(
            co_await asio::this_coro::executor,
            std::move(section),
            asio::bind_cancellation_slot(cancel.slot(), [&](std::exception_ptr) { ended = true; })
        );
        bool const taken =
            co_await eventually([&] { return server.ask("GET", partner.name()).text == "1"; });
        BOOST_TEST(taken);
        cancel.emit(asio::cancellation_type::terminal);
        bool const back =
            co_await eventually([&] { return server.ask("GET", partner.name()).text == "3"; });
        BOOST_TEST((back && ended));
        server.ask("DEL", partner.name());
    });
}

BOOST_DATA_TEST_CASE(a_lock_stays_taken_for_its_time, each_server(), kind)
{
    auto& server = shared_server(kind);
    lab at{server};
    auto& c = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        lock const job{c.client, unique_name("job")};
        int runs = 0;
        auto const work = [&](hold&) -> asio::awaitable<void> {
            ++runs;
            co_return;
        };
        bool const first = co_await once_per(job, 2s, work);
        bool const second = co_await once_per(job, 2s, work);
        BOOST_TEST((first && !second && runs == 1));
        auto const left = co_await job.remaining_lease();
        BOOST_TEST((left && *left > 1s && *left <= 2s));
        BOOST_TEST(server.ask("HLEN", job.name()).number == 1);
        bool const freed = co_await eventually([&] { return !exists(server, job.name()); });
        BOOST_TEST(freed);
    });
}

BOOST_DATA_TEST_CASE(a_refusal_is_told_in_the_words_of_the_server, each_server(), kind)
{
    auto& server = shared_server(kind);
    lab at{server};
    auto& c = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        auto const name = unique_name("wrong");
        server.ask("SET", name, "text");
        std::string said;
        try {
            co_await with_lock(lock{c.client, name}, [](hold&) -> asio::awaitable<void> {
                co_return;
            });
        } catch (boost::system::system_error const& e) {
            said = e.what();
        }
        BOOST_TEST(said.find("with_lock " + name) != std::string::npos);
        server.ask("DEL", name);
    });
}

BOOST_DATA_TEST_CASE(a_leader_is_seen_by_others, each_server(), kind)
{
    auto& server = shared_server(kind);
    lab at{server};
    auto& a = at.connect();
    auto& b = at.connect();
    at.run([&]() -> asio::awaitable<void> {
        auto const name = unique_name("leader");
        election const of_a{a.client, name}, of_b{b.client, name};
        auto const nobody = co_await of_b.current();
        BOOST_TEST(!nobody.has_value());
        leadership mine = co_await of_a.campaign("a:80");
        auto const seen = co_await of_b.next(std::nullopt);
        BOOST_TEST_REQUIRE(seen.has_value());
        BOOST_TEST(seen->words == "a:80");
        BOOST_TEST(seen->token == mine.fencing_token());
        co_await mine.publish("a:81");
        auto const other = co_await of_b.current();
        BOOST_TEST(other->words == "a:81");
        co_await mine.resign();
        int const got = co_await of_b.lead("b:80", [&](leadership& held) -> asio::awaitable<int> {
            auto const now = co_await of_a.current();
            BOOST_TEST((now && now->words == "b:80" && now->token == held.fencing_token()));
            co_return 7;
        });
        BOOST_TEST(got == 7);
        BOOST_TEST(!exists(server, name));
        server.ask("DEL", "colock_leader:{" + name + "}");
    });
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
