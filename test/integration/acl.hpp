// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "integration/suites.hpp"
#include "support/places.hpp"

#include <fstream>
#include <initializer_list>
#include <sstream>

namespace colock::test {

inline constexpr auto secret = "se%cret/:@1";

/// The words behind ACL SETUSER on the page, but for the password.
inline std::vector<std::string> documented_rules()
{
    std::ifstream page{in_source_tree("docs/deployments.md")};
    std::string line, word;
    while (std::getline(page, line) && line != "```acl") {}
    std::vector<std::string> rules{std::string{">"} + secret};
    while (std::getline(page, line) && line != "```")
        for (std::istringstream words{line}; words >> word;)
            if (word != "user" && word != "app" && word.front() != '>')
                rules.push_back(word);
    BOOST_REQUIRE(rules.size() > 30U);
    return rules;
}

/// A server with the user, who may do what is documented, with these rules behind it.
class acl_lab {
public:
    explicit acl_lab(server_kind kind, std::initializer_list<char const*> changed = {})
        : server{kind}
        , at{server}
    {
        auto rules = documented_rules();
        rules.insert(rules.end(), changed.begin(), changed.end());
        allow(rules);
    }

    void allow(std::vector<std::string> const& rules)
    {
        redis_cli admin{server.unix_socket()};
        std::vector<std::string> words{"ACL", "SETUSER", "app"};
        words.insert(words.end(), rules.begin(), rules.end());
        BOOST_TEST(admin.command(words).text == "OK");
    }

    config settings() const
    {
        auto c = quick(server.by_socket());
        c.username = "app";
        c.password = secret;
        c.links = 1;
        c.lease = 2s;  // some look on until it is renewed
        return c;
    }

    running_client& connect(config const& with)
    {
        auto& made = at.connect(with);
        logs.push_back(made.log);
        return made;
    }
    running_client& connect() { return connect(settings()); }

    ~acl_lab()
    {
        for (auto const& log : logs)
            for (auto const* word : {secret, "cret"})
                BOOST_TEST(log->count(word) == 0U, "a password in: " << log->all());
    }

    redis_server server;
    lab at;
    std::vector<std::shared_ptr<log_lines>> logs;
};

/// Held at one client, waited for at another: the wait must be ended by a message.
template <class Lock>
asio::awaitable<void> hand_over(acl_lab& in, Lock of_a, Lock of_b, running_client& b)
{
    hold first = co_await of_a.acquire();
    tasks all{in.at.context()};
    all.start([&]() -> asio::awaitable<void> {
        hold second = co_await of_b.acquire();
        co_await second.release();
    });
    BOOST_TEST(co_await eventually([&] { return b.client.stats().waiters == 1; }));
    auto const until = first.valid_until();
    BOOST_TEST(co_await eventually([&] { return first.valid_until() > until; }));
    co_await first.release();
    co_await all.join(2s);
}

/// An acquire without a limit, which fails with this.
inline asio::awaitable<void> refused(running_client& c, std::string name)
{
    auto const [ec, none] = co_await lock{c.client, name}.acquire(tuple);
    BOOST_TEST(ec == error::server_refused);
}

}  // namespace colock::test
