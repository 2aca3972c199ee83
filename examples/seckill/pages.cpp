// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "page.hpp"
#include "pages.hpp"

#include <string_view>
#include <utility>

namespace seckill {

namespace {

response make(http::status status, std::string_view type, std::string text)
{
    response made{status, 11};
    made.set(http::field::content_type, type);
    made.body() = std::move(text);
    return made;
}

/// It becomes a part of a lock's name, and of JSON.
bool is_good_name(std::string_view user)
{
    constexpr std::string_view letters =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_";
    return !user.empty() && user.size() <= 32 &&
        user.find_first_not_of(letters) == std::string_view::npos;
}

template <class Texts>
std::string json_list(Texts const& of)
{
    std::string list;
    for (auto const& each : of)
        list += (list.empty() ? "\"" : ",\"") + each + "\"";
    return "[" + list + "]";
}

}  // namespace

response say(http::status status, std::string text)
{
    return make(status, "text/plain; charset=utf-8", std::move(text) + "\n");
}

pages::pages(shop& s, std::function<std::string()> metrics) : shop_{s}, metrics_{std::move(metrics)}
{}

asio::awaitable<response> pages::answer(request const& asked)
{
    std::string_view const path{asked.target().data(), asked.target().size()};
    constexpr std::string_view orders = "/orders/";
    if (asked.method() == http::verb::post && path.starts_with(orders)) {
        std::string const user{path.substr(orders.size())};
        co_return co_await order(user);
    }
    if (asked.method() != http::verb::get)
        co_return say(http::status::method_not_allowed, "GET, or POST /orders/USER");
    if (path == "/")
        co_return make(http::status::ok, "text/html; charset=utf-8", std::string{page});
    if (path == "/metrics")
        co_return make(http::status::ok, "text/plain; version=0.0.4", metrics_());
    if (path == "/orders") {
        auto lines = co_await list_orders();
        co_return make(http::status::ok, "text/plain; charset=utf-8", std::move(lines));
    }
    if (path == "/state") {
        auto json = co_await describe();
        co_return make(http::status::ok, "application/json", std::move(json));
    }
    co_return say(http::status::not_found, "there is nothing here");
}

asio::awaitable<response> pages::order(std::string user)
{
    if (!is_good_name(user))
        co_return say(http::status::bad_request, "a user is 1 to 32 of a-z, A-Z, 0-9, - and _");
    auto const done = co_await shop_.order(user);
    switch (done) {
    case outcome::ordered: co_return say(http::status::created, "ordered");
    case outcome::already_ordered: co_return say(http::status::conflict, "once a user");
    case outcome::sold_out: co_return say(http::status::gone, "sold out");
    case outcome::stale: break;
    }
    co_return say(http::status::service_unavailable, "too late; ask again what became of it");
}

asio::awaitable<std::string> pages::list_orders()
{
    std::string lines;
    auto const orders = co_await shop_.orders();
    for (auto const& each : orders)
        lines += each + "\n";
    co_return lines;
}

asio::awaitable<std::string> pages::describe()
{
    auto const now = co_await shop_.look();
    co_return R"({"server":")" + shop_.by().server + R"(","stock":)" + std::to_string(now.stock) +
        R"(,"orders":)" + std::to_string(now.orders) + R"(,"latest":)" + json_list(now.latest) +
        R"(,"waiting":)" + json_list(shop_.waiting()) + "}\n";
}

}  // namespace seckill
