// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// How a connection gets its credentials and stays logged in, in virtual time: at a provider that
// answers, or does not, as the test says, and a server that lets in, or does not.
#include "redis/connection_loop.hpp"
#include "support/fixture.hpp"
#include "unit/redis/link_rig.hpp"

#include <boost/asio/write.hpp>

#include <stdexcept>
#include <thread>

namespace colock::test {

namespace {

using namespace std::chrono_literals;

/// One connection, which asks for nothing by itself.
struct logged_in : connection_loop::listener {
    logged_in()
    {
        rig.settings.log = {log.sink().sink, log_level::warning};
        rig.settings.connect_timeout = 1s;
        rig.settings.credentials = [this](credentials_request wanted, credentials_handler done) {
            requests.push_back(std::move(wanted));
            BOOST_TEST(!rig.shared.strand.running_in_this_thread());
            provider(std::move(done));
        };
    }
    ~logged_in()
    {
        loop->stop();
        rig.time.settle();
        loop->detach();
        rig.time.settle();
    }

    void write_probe(resp::writer&) override {}
    error_code judge_probe(replies const&) override { return {}; }
    void on_up() override { ++ups; }
    void on_down(error_code) override { ++downs; }
    void on_failed(detail::failure why) override { failed = why; }

    /// Lets time pass, with a server that answers what it is asked.
    void pass(milliseconds limit)
    {
        auto const step = limit > 2s ? 20ms : 1ms;
        for (auto passed = 0ms; passed < limit; passed += step) {
            serve();
            rig.alarms.run(clock::now());
            rig.time.jump(step);
        }
        serve();
    }

    void serve()
    {
        for (int i = 0; i != 4; ++i) {
            rig.time.settle();
            error_code ec;
            rig.acceptor.non_blocking(true);
            auto next = rig.acceptor.accept(ec);
            if (!ec) {
                next.non_blocking(true);
                ends.push_back(std::move(next));
            }
            for (auto& each : ends)
                answer(each);
        }
    }

    void answer(link_rig::local::socket& to)
    {
        bool ended = false;
        auto const got = to.is_open() ? received(to, ended) : std::string{};
        if (ended)
            return to.close();
        for (auto at = got.find('*'); at != got.npos; at = got.find("\r\n*", at + 1)) {
            auto const end = got.find("\r\n*", at + 1);
            auto const command = got.substr(at, end == got.npos ? end : end + 2 - at);
            bool const is_hello = command.find("HELLO") != command.npos;
            bool const is_auth = command.find("\r\nAUTH\r\n") != command.npos;
            if (is_auth)
                logins.push_back((is_hello ? "HELLO " : "AUTH ") + secret_in(command));
            auto reply = is_auth ? answer_to_auth : std::string{"+OK\r\n"};
            if (command.find("\r\nECHO\r\n") != command.npos)
                reply = command.substr(command.rfind('$'));
            bool const is_first = at == 0;
            if (is_auth && !is_hello && !refusal.empty() && !is_first && swallows_refusals)
                continue;
            if (is_auth && !refusal.empty() && (!is_hello || refuses_hello))
                reply = "-" + refusal_of(logins.back()) + "\r\n";
            else if (command.find("\r\nPING\r\n") != command.npos)
                reply = command.substr(command.rfind('$'));  // its number
            else if (is_hello)
                reply = "%1\r\n$4\r\nrole\r\n$6\r\nmaster\r\n";
            error_code ignored;
            asio::write(to, asio::buffer(reply), ignored);
        }
    }

    /// With the password, as a careless server might quote it.
    std::string refusal_of(std::string const& login) const
    {
        auto text = refusal;
        if (auto const at = text.find('%'); at != text.npos)
            text.replace(at, 1, login.substr(login.rfind(' ') + 1));
        return text;
    }

    /// User and password behind AUTH.
    static std::string secret_in(std::string const& command)
    {
        std::vector<std::string> arguments;
        for (std::size_t at = 0; at < command.size();) {
            auto const end = std::min(command.find("\r\n", at), command.size());
            if (auto word = command.substr(at, end - at);
                word.front() != '$' && word.front() != '*')
                arguments.push_back(std::move(word));
            at = end + 2;
        }
        auto const auth = std::ranges::find(arguments, "AUTH");
        return auth[1] + " " + auth[2];
    }

    link_rig rig;
    log_lines log;
    std::vector<credentials_request> requests;
    std::function<void(credentials_handler)> provider = [this](credentials_handler done) {
        done({}, {"me", "token-" + std::to_string(requests.size()), validity});
    };
    std::optional<milliseconds> validity;
    std::string refusal;  ///< of each AUTH; with the password in place of a %
    bool refuses_hello = false;
    bool swallows_refusals = false;  ///< of an AUTH that comes together with other commands
    std::string answer_to_auth = "+OK\r\n";
    std::vector<std::string> logins;  ///< what the server was given
    std::vector<link_rig::local::socket> ends;
    int ups = 0, downs = 0;
    error_code failed;
    std::shared_ptr<connection_loop> loop = std::make_shared<connection_loop>(
        rig.shared,
        *this,
        connection_loop::description{"the link", rig.where(), set_up::role::any, set_up_limits()}
    );
};

std::vector<std::string> const one_login{"HELLO me token-1"};

BOOST_FIXTURE_TEST_SUITE(redis_credentials, logged_in)

BOOST_AUTO_TEST_CASE(the_provider_is_asked_for_each_connection)
{
    rig.settings.username = "named";
    loop->start();
    pass(5ms);
    BOOST_TEST(ups == 1);
    BOOST_TEST(logins == one_login, boost::test_tools::per_element());
    BOOST_TEST(requests.at(0).username == "named");
    BOOST_TEST((requests.at(0).server == rig.where()));
    loop->restart(error::unavailable);
    pass(5ms);
    BOOST_TEST(ups == 2);
    BOOST_TEST(logins.at(1) == "HELLO me token-2");
    pass(100s);  // what does not expire is not asked for again
    BOOST_TEST(requests.size() == 2U);
}

BOOST_AUTO_TEST_CASE(without_a_provider_the_config_is_used)
{
    rig.settings.credentials = {};
    rig.settings.password = "fixed";
    loop->start();
    pass(5ms);
    BOOST_TEST(ups == 1);
    BOOST_TEST(logins.at(0) == "HELLO default fixed");
}

BOOST_AUTO_TEST_CASE(a_user_that_the_provider_does_not_name_is_that_of_the_config)
{
    rig.settings.username = "named";
    provider = [](credentials_handler const& done) { done({}, {"", "token"}); };
    loop->start();
    pass(5ms);
    BOOST_TEST(logins.at(0) == "HELLO named token");
}

BOOST_AUTO_TEST_CASE(it_logs_in_again_before_the_expiry)
{
    validity = 60s;
    loop->start();
    pass(40s);
    BOOST_TEST(logins.size() == 1U);
    pass(6s);
    BOOST_TEST_REQUIRE(logins.size() == 2U);
    BOOST_TEST(logins.at(1) == "AUTH me token-2");
    pass(120s);
    BOOST_TEST(logins.size() >= 4U);
    BOOST_TEST(logins.size() <= 5U);
    BOOST_TEST(ups == 1);
    BOOST_TEST(downs == 0);
    BOOST_TEST(log.all() == "");
}

BOOST_AUTO_TEST_CASE(an_answer_may_come_from_another_thread)
{
    std::thread other;
    provider = [&](credentials_handler const& done) {
        other = std::thread{[done] { done({}, {"me", "token-1"}); }};
    };
    loop->start();
    rig.time.settle();
    rig.time.settle();
    BOOST_REQUIRE(other.joinable());
    other.join();
    pass(5ms);
    BOOST_TEST(ups == 1);
}

// Many servers do not answer an AUTH that they refuse if an earlier reply is still in their buffer.
BOOST_AUTO_TEST_CASE(it_logs_in_while_nothing_else_is_under_way)
{
    validity = 60s;
    loop->start();
    pass(40s);
    refusal = "WRONGPASS no such";
    swallows_refusals = true;
    int right = 0, wrong = 0;
    for (int i = 0; i != 300; ++i) {  // something is asked in each step of 20 ms
        auto const word = std::to_string(i);
        loop->ask(
            [&](resp::writer& out) { out.push("ECHO", word); },
            [&, word](error_code ec, replies const& got) {
                ++(!ec && got.at(0).text == word ? right : wrong);
            }
        );
        rig.alarms.run(clock::now());
        rig.time.jump(20ms);
        serve();
    }
    BOOST_TEST(logins.size() >= 2U);
    BOOST_TEST(log.count("refuses AUTH with the new credentials: WRONGPASS") >= 1U, log.all());
    BOOST_TEST(right == 300);
    BOOST_TEST(wrong == 0);
    BOOST_TEST(downs == 0);
}

BOOST_AUTO_TEST_CASE(what_is_no_answer_to_a_login_is_none)
{
    validity = 60s;
    loop->start();
    pass(40s);
    answer_to_auth = "+PONG\r\n";
    pass(6s);
    BOOST_TEST(logins.size() >= 2U);
    BOOST_TEST(downs == 1);
    BOOST_TEST(ups == 2);
}

BOOST_AUTO_TEST_CASE(a_refused_renewal_is_tried_again_and_the_connection_replaced_in_time)
{
    validity = 60s;
    loop->start();
    pass(40s);
    refusal = "WRONGPASS invalid % for me";
    pass(5s);
    BOOST_TEST(downs == 0);
    BOOST_TEST(logins.size() >= 3U);
    BOOST_TEST(
        log.count("refuses AUTH with the new credentials: WRONGPASS invalid *** for me") == 2U,
        log.all()
    );
    BOOST_TEST(log.count("Remedy") > 0U);
    pass(13s);  // at 58 s: replaced
    BOOST_TEST(downs == 1);
    BOOST_TEST(ups == 2);
    BOOST_TEST(logins.back().starts_with("HELLO me token-"));
    BOOST_TEST(log.count("token-") == 0U, log.all());
}

BOOST_AUTO_TEST_CASE(a_renewal_that_is_accepted_at_last_replaces_nothing)
{
    validity = 60s;
    loop->start();
    pass(40s);
    refusal = "WRONGPASS no such";
    pass(6s);
    refusal.clear();
    pass(50s);
    BOOST_TEST(ups == 1);
    BOOST_TEST(downs == 0);
}

// A new connection would not come up either.
BOOST_AUTO_TEST_CASE(without_new_credentials_the_connection_is_kept)
{
    validity = 60s;
    loop->start();
    pass(40s);
    auto const good = provider;
    provider = [](credentials_handler const& done) { done(asio::error::timed_out, {}); };
    pass(60s);
    BOOST_TEST(downs == 0);
    BOOST_TEST(logins.size() == 1U);
    BOOST_TEST(requests.size() >= 6U);
    BOOST_TEST(requests.size() <= 16U);
    BOOST_TEST(log.count("config::credentials failed: ") > 0U, log.all());
    provider = good;
    pass(11s);
    BOOST_TEST(logins.size() == 2U);
}

BOOST_AUTO_TEST_CASE(nor_after_a_refusal_before)
{
    validity = 60s;
    loop->start();
    pass(40s);
    refusal = "WRONGPASS no such";
    pass(6s);
    provider = [](credentials_handler const& done) { done(asio::error::timed_out, {}); };
    pass(60s);
    BOOST_TEST(downs == 0);
}

BOOST_AUTO_TEST_CASE(a_provider_that_fails_is_said_and_asked_again)
{
    struct {
        std::function<void(credentials_handler)> provider;
        std::string line;
    } const cases[]{
        {[](credentials_handler const& done) { done(asio::error::access_denied, {}); },
         "config::credentials failed: " + error_code{asio::error::access_denied}.message()},
        {[](credentials_handler const&) { throw std::runtime_error{"my-secret"}; },
         "config::credentials threw an exception"},
        {[](credentials_handler const& done) {
             done({}, {"me", "my-secret", 0ms});
         },
         "config::credentials gave credentials that have expired"},
        {[](credentials_handler const&) {}, "config::credentials did not answer within"},
    };
    auto const good = provider;
    loop->start();
    for (auto const& each : cases) {
        provider = each.provider;
        auto const before = requests.size();
        loop->restart(error::unavailable);
        pass(10s);
        BOOST_TEST((failed == error::unavailable));
        BOOST_TEST(log.count(each.line) > 0U, each.line << "\n" << log.all());
        BOOST_TEST(requests.size() - before >= 3U);  // at least each 3 s, and that after a limit
        BOOST_TEST(requests.size() - before <= 12U);
        BOOST_TEST(!loop->is_up());
        provider = good;
        pass(4s);
        BOOST_TEST(loop->is_up());
    }
    BOOST_TEST(log.count("Remedy: ") == log.count("the link: no connection"), log.all());
    BOOST_TEST(log.count("my-secret") == 0U);
}

BOOST_AUTO_TEST_CASE(a_late_or_second_answer_counts_for_nothing)
{
    std::vector<credentials_handler> kept;
    provider = [&](credentials_handler done) { kept.push_back(std::move(done)); };
    loop->start();
    pass(1'100ms);  // the limit, and a part of the pause
    BOOST_TEST(kept.size() == 1U);
    pass(200ms);
    BOOST_TEST(logins.empty());
    BOOST_TEST_REQUIRE(kept.size() == 2U);
    kept[0]({}, {"me", "too-late"});
    pass(5ms);
    BOOST_TEST(logins.empty());
    kept[1]({}, {"me", "in-time"});
    kept[1]({}, {"me", "again"});
    pass(5ms);
    BOOST_TEST(logins.size() == 1U);
    BOOST_TEST(logins.at(0) == "HELLO me in-time");
}

BOOST_AUTO_TEST_CASE(an_answer_after_the_end_is_dropped)
{
    credentials_handler kept;
    provider = [&](credentials_handler done) { kept = std::move(done); };
    loop->start();
    pass(1ms);
    BOOST_TEST_REQUIRE(static_cast<bool>(kept));
    loop->stop();
    kept({}, {"me", "token"});
    pass(5ms);
    loop->detach();
    kept({}, {"me", "token"});
    pass(5ms);
    BOOST_TEST(logins.empty());
}

BOOST_AUTO_TEST_CASE(what_the_server_says_of_a_token_is_shown_without_it)
{
    refusal = "WRONGPASS no % here";
    refuses_hello = true;
    loop->start();
    pass(5ms);
    BOOST_TEST((failed == error::server_refused));
    BOOST_TEST(log.count("WRONGPASS no *** here") == 1U, log.all());
    BOOST_TEST(log.count("from config::credentials") == 1U, log.all());
    BOOST_TEST(failed.message().find("token-1") == std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace

}  // namespace colock::test
