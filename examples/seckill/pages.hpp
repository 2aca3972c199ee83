// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// The requests and their answers:
//
//     GET  /               the page
//     GET  /state          what the page shows, as JSON
//     GET  /orders         all orders, a line each: user, server
//     POST /orders/USER    201 ordered, 409 has ordered already, 410 sold out, 503 not now
//     GET  /metrics        for Prometheus
#pragma once

#include "shop.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>

#include <functional>
#include <string>

namespace seckill {

namespace http = boost::beast::http;

using request = http::request<http::string_body>;
using response = http::response<http::string_body>;

/// An answer in plain text.
response say(http::status, std::string text);

class pages {
public:
    pages(shop&, std::function<std::string()> metrics);

    asio::awaitable<response> answer(request const&);

private:
    asio::awaitable<response> order(std::string user);
    asio::awaitable<std::string> list_orders();
    asio::awaitable<std::string> describe();

    shop& shop_;
    std::function<std::string()> metrics_;
};

}  // namespace seckill
