// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
// The requests to the live page, and their answers.
#include "web/answers.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

namespace cli::web {

namespace {

request get(char const* target, char const* host = "127.0.0.1:8000")
{
    request asked{http::verb::get, target, 11};
    asked.set(http::field::host, host);
    return asked;
}

std::string text(boost::beast::string_view from) { return {from.data(), from.size()}; }

}  // namespace

BOOST_AUTO_TEST_SUITE(web_answers)

BOOST_AUTO_TEST_CASE(hosts)
{
    for (auto const* own :
         {"127.0.0.1",
          "127.0.0.1:8000",
          "localhost:8000",
          "LOCALHOST",
          "[::1]",
          "[::1]:80",
          "10.1.2.3:1"})
        BOOST_TEST(is_own_host(own), own);
    for (auto const* foreign :
         {"",
          ":8000",
          "evil.example",
          "evil.example:8000",
          "localhost.evil.example",
          "127.0.0.1.evil.example",
          "localhost:",
          "localhost:80:80",
          "localhost:x",
          "localhost:-1",
          "::1",
          "[evil]",
          "[::1",
          "127.0.0.1@evil.example"})
        BOOST_TEST(!is_own_host(foreign), foreign);
}

BOOST_AUTO_TEST_CASE(the_page_takes_nothing_from_elsewhere)
{
    for (auto const* target : {"/", "/style.css", "/page.js"}) {
        auto const made = answer_to(get(target)).value();
        BOOST_TEST((made.result() == http::status::ok));
        BOOST_TEST(!made.body().empty());
        BOOST_TEST(text(made["Content-Security-Policy"]).starts_with("default-src 'none'"));
        BOOST_TEST(text(made["X-Content-Type-Options"]) == "nosniff");
        BOOST_TEST((made.find("Access-Control-Allow-Origin") == made.end()));
    }
    // The policy forbids scripts and styles in the page itself.
    auto const page = answer_to(get("/")).value().body();
    BOOST_TEST(page.find(" style=") == page.npos);
    BOOST_TEST(page.find("<style") == page.npos);
    BOOST_TEST(page.find("<script>") == page.npos);
}

BOOST_AUTO_TEST_CASE(the_stream)
{
    BOOST_TEST(!answer_to(get("/events")));
    auto const head = head_of_stream();
    BOOST_TEST(text(head[http::field::content_type]) == "text/event-stream");
    BOOST_TEST((head.find("Access-Control-Allow-Origin") == head.end()));
    BOOST_TEST(server_sent_event("locks", "{}") == "event: locks\ndata: {}\n\n");
}

BOOST_AUTO_TEST_CASE(refusals)
{
    BOOST_TEST(
        (answer_to(get("/events", "evil.example:8000")).value().result() ==
         http::status::misdirected_request)
    );
    BOOST_TEST((answer_to(get("/other")).value().result() == http::status::not_found));
    auto of_another_page = get("/events");
    of_another_page.set("Sec-Fetch-Site", "cross-site");
    of_another_page.set("Sec-Fetch-Mode", "no-cors");
    BOOST_TEST((answer_to(of_another_page).value().result() == http::status::forbidden));
    auto a_link = get("/");
    a_link.set("Sec-Fetch-Site", "cross-site");
    a_link.set("Sec-Fetch-Mode", "navigate");
    BOOST_TEST((answer_to(a_link).value().result() == http::status::ok));
    auto its_own = get("/events");
    its_own.set("Sec-Fetch-Site", "same-origin");
    BOOST_TEST(!answer_to(its_own));
    auto change = get("/");
    change.method(http::verb::post);
    auto const refusal = answer_to(change).value();
    BOOST_TEST((refusal.result() == http::status::method_not_allowed));
    BOOST_TEST(text(refusal[http::field::allow]) == "GET");
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace cli::web
