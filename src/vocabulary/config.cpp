#include "system/socket_path.hpp"
#include <colock/config.hpp>

#include <boost/system/system_error.hpp>

#include <algorithm>
#include <charconv>
#include <limits>

namespace colock {

namespace {

using boost::system::result;

template <class Number>
result<Number> number(std::string_view text, Number least, Number most, error bad)
{
    Number n{};
    auto const end = text.data() + text.size();
    auto const [at, ec] = std::from_chars(text.data(), end, n);
    if (ec != std::errc{} || at != end || text.empty() || n < least || n > most)
        return bad;
    return n;
}

int hex_digit(char c) noexcept
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

result<std::string> percent_decoded(std::string_view text, error bad)
{
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '%') {
            out += text[i];
            continue;
        }
        int const high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
        int const low = high < 0 ? -1 : hex_digit(text[i + 2]);
        if (i + 2 >= text.size() || low < 0)
            return bad;
        out += static_cast<char>(high * 16 + low);
        i += 2;
    }
    return out;
}

error_code read_credentials(std::string_view text, config& into)
{
    auto const colon = text.find(':');
    auto user = percent_decoded(text.substr(0, colon), error::invalid_url_credentials);
    if (!user)
        return user.error();
    into.username = *user;
    if (colon == text.npos)
        return {};
    auto password = percent_decoded(text.substr(colon + 1), error::invalid_url_credentials);
    if (!password)
        return password.error();
    into.password = *password;
    return {};
}

error_code read_database(std::string_view text, config& into)
{
    auto const n =
        number<int>(text, 0, std::numeric_limits<int>::max(), error::invalid_url_database);
    if (!n)
        return n.error();
    into.database = *n;
    return {};
}

/// No control characters: a resolver would stop at a zero byte, and a line break would break log
/// lines.
bool is_of_host(char c) noexcept
{
    auto const byte = static_cast<unsigned char>(c);
    return byte > 0x20 && c != '\x7f' &&
        std::string_view{",/?#@\\<>\"[]"}.find(c) == std::string_view::npos;
}

error_code read_host_and_port(std::string_view text, address& into)
{
    std::string_view port;
    if (text.starts_with('[')) {
        auto const close = text.find(']');
        if (close == text.npos)
            return error::invalid_url_host;
        into.host = text.substr(1, close - 1);
        text.remove_prefix(close + 1);
        if (!text.empty() && !text.starts_with(':'))
            return error::invalid_url_host;
        port = text.empty() ? text : text.substr(1);
        if (text == ":")
            return error::invalid_url_port;
    } else {
        auto const colon = text.find(':');
        into.host = text.substr(0, colon);
        if (colon != text.npos) {
            port = text.substr(colon + 1);
            if (port.empty())
                return error::invalid_url_port;
        }
    }
    if (into.host.empty() || !std::ranges::all_of(into.host, is_of_host))
        return error::invalid_url_host;
    if (port.empty())
        return {};
    auto const n = number<std::uint16_t>(port, 1, 65'535, error::invalid_url_port);
    if (!n)
        return n.error();
    into.port = *n;
    return {};
}

error_code read_addresses(std::string_view text, std::uint16_t port, config& into)
{
    into.addresses.clear();
    for (std::size_t end = 0; end != text.npos; text.remove_prefix(end + 1)) {
        address& next = into.addresses.emplace_back();
        next.port = port;
        end = into.topology == topology::single ? text.npos : text.find(',');
        if (auto const ec = read_host_and_port(text.substr(0, end), next))
            return ec;
        if (into.topology == topology::replicated && std::ranges::count(into.addresses, next) > 1)
            return error::invalid_url_host;
        if (end == text.npos)
            break;
    }
    return {};
}

error_code read_tcp(std::string_view rest, config& into)
{
    if (rest.find('?') != rest.npos || rest.find('#') != rest.npos)
        return error::invalid_url_option;
    auto const slash = rest.find('/');
    auto path = slash == rest.npos ? std::string_view{} : rest.substr(slash + 1);
    rest = rest.substr(0, slash);
    if (into.topology == topology::sentinel) {
        auto const end = path.find('/');
        auto const name = percent_decoded(path.substr(0, end), error::invalid_url_master);
        if (!name || name->empty())
            return error::invalid_url_master;
        into.master_name = *name;
        path = end == path.npos ? std::string_view{} : path.substr(end + 1);
    }
    if (!path.empty())
        if (auto const ec = read_database(path, into))
            return ec;
    constexpr std::uint16_t server_port = 6379, sentinel_port = 26379;
    return read_addresses(
        rest, into.topology == topology::sentinel ? sentinel_port : server_port, into
    );
}

error_code read_unix(std::string_view rest, config& into)
{
    auto const question = rest.find('?');
    auto path = percent_decoded(rest.substr(0, question), error::invalid_url_path);
    if (!path)
        return path.error();
    if (!path->starts_with('/') || path->size() == 1 || path->find('\0') != path->npos ||
        path->size() > longest_socket_path)
        return error::invalid_url_path;
    into.addresses.front().unix_socket = *path;
    if (question == rest.npos)
        return {};
    auto const option = rest.substr(question + 1);
    if (!option.starts_with("db="))
        return error::invalid_url_option;
    return read_database(option.substr(3), into);
}

error_code read_scheme(std::string_view scheme, config& into)
{
    auto const plus = scheme.find('+');
    auto const transport = scheme.substr(0, plus);
    into.tls.enabled = transport == "rediss";
    if (plus != scheme.npos && scheme.substr(plus + 1) == "sentinel")
        into.topology = topology::sentinel;
    else if (plus != scheme.npos && scheme.substr(plus + 1) == "cluster")
        into.topology = topology::cluster;
    else if (plus != scheme.npos && scheme.substr(plus + 1) == "replicated")
        into.topology = topology::replicated;
    else if (plus != scheme.npos)
        return error::invalid_url_scheme;
    bool const is_unix = transport == "unix" && into.topology == topology::single;
    return transport == "redis" || transport == "rediss" || is_unix
        ? error_code{}
        : error_code{error::invalid_url_scheme};
}

error_code read_url(std::string_view url, config& into)
{
    auto const colon = url.find("://");
    if (colon == url.npos)
        return error::invalid_url_scheme;
    auto const scheme = url.substr(0, colon);
    if (auto const ec = read_scheme(scheme, into))
        return ec;

    auto rest = url.substr(colon + 3);
    // The last @ before the path, so that a password may have one that is not encoded. A unix
    // path begins at the first slash, a database at the first after the host.
    auto const authority = rest.substr(
        0,
        rest.find_first_of(
            "/?", rest.rfind('@') == rest.npos || scheme == "unix" ? 0 : rest.rfind('@')
        )
    );
    if (auto const at = authority.rfind('@'); at != authority.npos) {
        if (auto const ec = read_credentials(authority.substr(0, at), into))
            return ec;
        rest.remove_prefix(at + 1);
    }
    return scheme == "unix" ? read_unix(rest, into) : read_tcp(rest, into);
}

}  // namespace

boost::system::result<config> config::parse(std::string_view url)
{
    config read;
    if (auto const ec = read_url(url, read))
        return ec;
    return read;
}

config config::from_url(std::string_view url)
{
    auto read = parse(url);
    if (!read)
        throw boost::system::system_error{read.error(), "colock URL"};
    return *std::move(read);
}

inline namespace v0_3 {

std::string describe(address const& a)
{
    if (!a.unix_socket.empty())
        return a.unix_socket;
    bool const is_v6 = a.host.find(':') != std::string::npos;
    return (is_v6 ? "[" + a.host + "]" : a.host) + ":" + std::to_string(a.port);
}

}  // namespace v0_3

}  // namespace colock
