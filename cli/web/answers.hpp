// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// The requests and their answers:
//
//     GET /            the page; it needs /style.css and /page.js
//     GET /events      server-sent events without end: locks, event, trouble
//
// All else is refused.
#pragma once

#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace cli::web {

namespace http = boost::beast::http;

using request = http::request<http::empty_body>;
using response = http::response<http::string_body>;

/// Whether a Host is one that only this machine's user can have meant: an IP address or localhost,
/// with any port. A page of somebody else's that has its own name lead here (DNS rebinding) shows
/// that name.
bool is_own_host(std::string_view host);

/// The answer; nothing if it is the stream of events.
std::optional<response> answer_to(request const&);

/// What the stream begins with.
http::response<http::empty_body> head_of_stream();

/// A refusal in plain text.
response refuse(http::status, std::string why);

/// One message of the stream. The JSON has no line feeds.
std::string server_sent_event(std::string_view name, std::string_view json);

}  // namespace cli::web
