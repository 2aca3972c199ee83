// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "web/answers.hpp"
#include "web/assets.hpp"

#include <boost/asio/ip/address.hpp>

#include <charconv>
#include <utility>

namespace cli::web {

namespace {

/// The page takes nothing from elsewhere, and is shown in no frame.
constexpr std::string_view policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

template <class Message>
void protect(Message& m)
{
    m.set("Content-Security-Policy", policy);
    m.set("X-Content-Type-Options", "nosniff");
    m.set("Referrer-Policy", "no-referrer");
    m.set("Cross-Origin-Resource-Policy", "same-origin");
    m.set(http::field::cache_control, "no-store");
}

response make(http::status status, std::string_view type, std::string text)
{
    response made{status, 11};
    made.set(http::field::content_type, type);
    protect(made);
    made.body() = std::move(text);
    return made;
}

bool is_port(std::string_view text)
{
    std::uint16_t port = 0;
    auto const [at, ec] = std::from_chars(text.data(), text.data() + text.size(), port);
    return ec == std::errc{} && at == text.data() + text.size();
}

/// Browsers say whose page asks.
bool is_asked_by_another_page(request const& asked)
{
    auto const from = asked["Sec-Fetch-Site"];
    auto const aim = asked["Sec-Fetch-Mode"];
    // A link on another page may lead here.
    return !from.empty() && from != "same-origin" && from != "none" && aim != "navigate";
}

}  // namespace

bool is_own_host(std::string_view host)
{
    auto name = host;
    // The colons of an address of IPv6 stand in brackets.
    if (auto const colon = host.rfind(':'); colon != host.npos && !host.ends_with(']')) {
        if (!is_port(host.substr(colon + 1)))
            return false;
        name = host.substr(0, colon);
    }
    if (name.starts_with('[') && name.ends_with(']')) {
        boost::system::error_code ec;
        boost::asio::ip::make_address_v6(std::string{name.substr(1, name.size() - 2)}, ec);
        return !ec;
    }
    boost::system::error_code ec;
    boost::asio::ip::make_address_v4(std::string{name}, ec);
    return !ec || boost::beast::iequals({name.data(), name.size()}, "localhost");
}

std::optional<response> answer_to(request const& asked)
{
    auto const host = asked[http::field::host];
    if (!is_own_host({host.data(), host.size()}))
        return refuse(
            http::status::misdirected_request,
            "this page is served by address only: open http://127.0.0.1 or http://localhost with "
            "its "
            "port, or the IP address of its host"
        );
    if (is_asked_by_another_page(asked))
        return refuse(http::status::forbidden, "another page asks; this page is for people alone");
    if (asked.method() != http::verb::get) {
        auto made = refuse(http::status::method_not_allowed, "the page can be read only: GET");
        made.set(http::field::allow, "GET");
        if (asked.method() == http::verb::head) {
            made.body().clear();
            made.prepare_payload();
        }
        return made;
    }
    std::string_view const path{asked.target().data(), asked.target().size()};
    if (path == "/events")
        return {};
    if (path == "/")
        return make(http::status::ok, "text/html; charset=utf-8", std::string{page_html});
    if (path == "/style.css")
        return make(http::status::ok, "text/css; charset=utf-8", std::string{style_css});
    if (path == "/page.js")
        return make(http::status::ok, "text/javascript; charset=utf-8", std::string{page_js});
    return refuse(http::status::not_found, "there is nothing here; the page is at /");
}

http::response<http::empty_body> head_of_stream()
{
    http::response<http::empty_body> head{http::status::ok, 11};
    head.set(http::field::content_type, "text/event-stream");
    protect(head);
    head.keep_alive(false);
    return head;
}

response refuse(http::status status, std::string why)
{
    return make(status, "text/plain; charset=utf-8", std::move(why) + "\n");
}

std::string server_sent_event(std::string_view name, std::string_view json)
{
    std::string text{"event: "};
    text += name;
    text += "\ndata: ";
    text += json;
    return text + "\n\n";
}

}  // namespace cli::web
