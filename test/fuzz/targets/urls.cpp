// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A URL: what is read is in range, survives the check of `run()` and can be written again; what is
// refused is told in words of ours alone, with nothing of the URL and so no password.
#include "decide/validate.hpp"
#include "fuzz/fuzz.hpp"
#include <colock/config.hpp>

#include <boost/system/system_error.hpp>

#include <string>
#include <string_view>

namespace colock::fuzz {

namespace {

/// Each byte as %XX, so that nothing depends on which need it.
std::string encoded(std::string_view text)
{
    constexpr char digits[] = "0123456789ABCDEF";
    std::string out;
    for (char const c : text) {
        auto const byte = static_cast<unsigned char>(c);
        out.append({'%', digits[byte >> 4U], digits[byte & 15U]});
    }
    return out;
}

std::string hosts_of(config const& c)
{
    std::string out;
    for (auto const& each : c.addresses) {
        if (!out.empty())
            out += ',';
        bool const is_v6 = each.host.find(':') != each.host.npos;
        out.append(is_v6 ? "[" + each.host + "]" : each.host);
        out.append(":").append(std::to_string(each.port));
    }
    return out;
}

std::string url_of(config const& c)
{
    auto const credentials = encoded(c.username) + ":" + encoded(c.password) + "@";
    auto const& socket = c.addresses.front().unix_socket;
    if (!socket.empty())
        return "unix://" + credentials + encoded(socket) + "?db=" + std::to_string(c.database);
    std::string url = c.tls.enabled ? "rediss" : "redis";
    if (c.topology == topology::sentinel)
        url += "+sentinel";
    else if (c.topology == topology::cluster)
        url += "+cluster";
    else if (c.topology == topology::replicated)
        url += "+replicated";
    url += "://" + credentials + hosts_of(c) + "/";
    if (c.topology == topology::sentinel)
        url += encoded(c.master_name) + "/";
    return url + std::to_string(c.database);
}

void check_same(config const& a, config const& b)
{
    require(a.addresses == b.addresses, "the same addresses");
    require(a.topology == b.topology, "the same topology");
    require(a.tls.enabled == b.tls.enabled, "the same use of TLS");
    require(a.master_name == b.master_name, "the same primary");
    require(a.username == b.username, "the same user");
    require(a.password == b.password, "the same password");
    require(a.database == b.database, "the same database");
}

void check_read(config const& c)
{
    auto const* const complaint = decide::validate(c);
    require(!complaint, complaint);
    for (auto const& each : c.addresses) {
        require(each.port != 0, "a port is none of 0");
        require(!each.host.empty(), "a host has a name");
        require(
            each.unix_socket.empty() || each.unix_socket.front() == '/', "a unix path is absolute"
        );
        require(
            each.host.find('\0') == each.host.npos && each.unix_socket.find('\0') == each.host.npos,
            "what is looked up is the whole name"
        );
    }
    auto const again = config::parse(url_of(c));
    require(again.has_value(), "what was read is written as a URL");
    check_same(c, *again);
}

}  // namespace

void urls(std::string_view url);

void urls(std::string_view url)
{
    auto const read = config::parse(url);
    if (read)
        check_read(*read);
    try {
        auto const same = config::from_url(url);
        require(read.has_value(), "from_url and parse agree");
        check_same(*read, same);
    } catch (boost::system::system_error const& thrown) {
        require(read.has_error() && thrown.code() == read.error(), "from_url and parse agree");
        require(thrown.code().category() == error_category(), "an error of colock's");
        auto const expected = boost::system::system_error{thrown.code(), "colock URL"};
        require(
            std::string_view{thrown.what()} == expected.what(), "an error has nothing of the URL"
        );
    }
}

}  // namespace colock::fuzz
