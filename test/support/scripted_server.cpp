// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "support/own_thread.hpp"
#include "support/ports.hpp"
#include "support/scripted_server.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <map>
#include <poll.h>
#include <utility>

namespace colock::test {

using asio::ip::tcp;

namespace {

/// A script with keys that comes as text is one that could have come by its number. What is asked
/// of a server about itself has no keys.
void name_script(scripted_server::words& command)
{
    if (command.front() != "EVAL" || command.size() < 3 || command[2] == "0")
        return;
    command[0] = "EVALSHA";
    command[1] = sha1_of(command[1]);
}

/// Takes the number of a call of a script with keys away.
std::string take_number(scripted_server::words& command)
{
    if (command.front() != "EVALSHA" || command.size() < 4 || command[2] == "0")
        return {};
    auto const number = std::move(command.back());
    command.pop_back();
    return number;
}

/// Takes the next command from the front, an array of bulk strings; nothing if it isn't whole yet.
std::optional<scripted_server::words> take_command(std::string& from)
{
    std::size_t at = 0;
    auto const read_count = [&]() -> std::optional<std::size_t> {
        auto const end = from.find("\r\n", at);
        if (end == from.npos)
            return std::nullopt;
        auto const count = std::strtoul(from.c_str() + at + 1, nullptr, 10);
        at = end + 2;
        return count;
    };
    auto const count = read_count();
    scripted_server::words found;
    for (std::size_t i = 0; count && i != *count; ++i) {
        auto const size = read_count();
        if (!size || from.size() < at + *size + 2)
            return std::nullopt;
        found.push_back(from.substr(at, *size));
        at += *size + 2;
    }
    if (!count)
        return std::nullopt;
    from.erase(0, at);
    if (found.empty())
        found.emplace_back();
    std::ranges::transform(found.front(), found.front().begin(), [](unsigned char c) {
        return static_cast<char>(std::toupper(c));
    });
    name_script(found);
    return found;
}

}  // namespace

struct scripted_server::inside : own_thread {
    using session = std::shared_ptr<tcp::socket>;

    explicit inside(script what) : says{std::move(what)}
    {
        listen();
        start();
    }

    ~inside() { stop(); }

    void listen()
    {
        acceptor = tcp::acceptor{context, {asio::ip::address_v4::loopback(), port}, true};
        asio::co_spawn(context, accept(), asio::detached);
    }

    asio::awaitable<void> accept()
    {
        for (;;) {
            auto [ec, client] = co_await acceptor.async_accept(quiet);
            if (ec)
                co_return;
            ++events;
            client.set_option(tcp::no_delay{true});
            auto const made = std::make_shared<tcp::socket>(std::move(client));
            sessions[++accepted] = made;
            asio::co_spawn(context, serve(accepted, made), asio::detached);
        }
    }

    asio::awaitable<void> serve(std::size_t number, session with)
    {
        std::string received;
        std::string buffer(65'536, '\0');
        for (bool more = true; more;) {
            auto const [ec, count] = co_await with->async_read_some(asio::buffer(buffer), quiet);
            ++events;
            received.append(buffer, 0, count);
            more = !ec;
            for (auto next = take_command(received); more && next; next = take_command(received)) {
                auto const call = take_number(*next);
                answer const what = answer_to({number, time_point::clock::now(), *next, call});
                more = co_await send(what, *with);
                ++events;
            }
        }
        boost::system::error_code ignored;
        with->close(ignored);
        sessions.erase(number);
    }

    answer answer_to(command what)
    {
        auto scripted = says ? says(what) : std::nullopt;
        auto next = scripted ? *std::move(scripted) : answer{usual.to(what.said, what.connection)};
        if (!next.is_raw)
            next.bytes = numbered(what, std::move(next.bytes));
        heard.push_back(std::move(what));
        return next;
    }

    /// False if the connection has ended.
    asio::awaitable<bool> send(answer const& what, tcp::socket& to)
    {
        auto [failed, count] = co_await asio::async_write(to, asio::buffer(what.bytes), quiet);
        for (std::size_t sent = 0; !failed && sent < what.most_flood; sent += count) {
            std::tie(failed, count) =
                co_await asio::async_write(to, asio::buffer(what.flood), quiet);
            flooded += count;
        }
        co_return !failed && !what.is_last;
    }

    /// Whether a connection, or data, or an end of data waits to be taken.
    bool has_more()
    {
        std::vector<pollfd> all;
        if (acceptor.is_open())
            all.push_back({acceptor.native_handle(), POLLIN, 0});
        for (auto const& [number, each] : sessions)
            all.push_back({each->native_handle(), POLLIN, 0});
        return ::poll(all.data(), all.size(), 0) > 0;
    }

    void cut()
    {
        for (auto const& [number, each] : std::exchange(sessions, {})) {
            boost::system::error_code ignored;
            each->close(ignored);
        }
    }

    tcp::acceptor acceptor{context};
    reserved_port const port;
    std::map<std::size_t, session> sessions;
    std::size_t accepted = 0;
    script says;
    usual_answers usual;
    std::vector<command> heard;
    std::size_t flooded = 0;
    std::size_t events = 0;  ///< connections, pieces of data and ends that it has seen to
};

scripted_server::scripted_server(script what) : inside_{std::make_unique<inside>(std::move(what))}
{}

scripted_server::~scripted_server() = default;

std::string scripted_server::numbered(command const& to, std::string bytes)
{
    if (to.number.empty() || bytes.empty() || bytes.front() == '-' || bytes.front() == '!')
        return bytes;
    auto const end_of_line = bytes.find("\r\n") + 2;
    if (bytes.front() != '*')
        return "*2\r\n" + wire::text(to.number) + bytes;
    auto const count = std::stoul(bytes.substr(1)) + 1;
    return "*" + std::to_string(count) + "\r\n" + wire::text(to.number) + bytes.substr(end_of_line);
}

std::uint16_t scripted_server::port() const noexcept { return inside_->port; }

config scripted_server::by_port() const
{
    config c;
    c.addresses = {where()};
    return c;
}

void scripted_server::say(script what)
{
    inside_->on_thread([&] { inside_->says = std::move(what); });
}

void scripted_server::serve(std::vector<wire::slots> const& all)
{
    inside_->on_thread([&] { inside_->usual.cluster_slots = wire::slot_map(all); });
}

void scripted_server::name(std::uint16_t primary)
{
    inside_->on_thread([&] { inside_->usual.primary = primary; });
}

void scripted_server::send(std::size_t connection, std::string bytes)
{
    inside_->on_thread([&] {
        boost::system::error_code ignored;
        if (auto const at = inside_->sessions.find(connection); at != inside_->sessions.end())
            asio::write(*at->second, asio::buffer(bytes), ignored);
    });
}

void scripted_server::run(std::function<void()> const& what)
{
    inside_->on_thread([&] { what(); });
}

// What has been read, but not seen to, stands in the queue of the thread when it is asked once;
// when it is asked again, that has run.
void scripted_server::catch_up() const
{
    auto const seen = [&] {
        return inside_->on_thread([&]() -> std::optional<std::size_t> {
            return inside_->has_more() ? std::nullopt : std::optional{inside_->events};
        });
    };
    auto before = seen();
    for (auto now = seen(); !before || now != before; now = seen())
        before = now;
}

void scripted_server::cut()
{
    inside_->on_thread([&] { inside_->cut(); });
}

void scripted_server::listen(bool on)
{
    inside_->on_thread([&] {
        inside_->acceptor.close();
        inside_->cut();
        if (on)
            inside_->listen();
    });
}

std::vector<scripted_server::command> scripted_server::heard() const
{
    return inside_->on_thread([&] { return inside_->heard; });
}

std::size_t scripted_server::count(std::string_view verb, std::string_view second) const
{
    return inside_->on_thread([&] {
        return static_cast<std::size_t>(std::ranges::count_if(inside_->heard, [&](auto const& c) {
            return c.is(verb) && (second.empty() || (c.said.size() > 1 && c.said[1] == second));
        }));
    });
}

std::size_t scripted_server::connections() const
{
    return inside_->on_thread([&] { return inside_->accepted; });
}

std::size_t scripted_server::open_connections() const
{
    return inside_->on_thread([&] { return inside_->sessions.size(); });
}

std::size_t scripted_server::flooded() const
{
    return inside_->on_thread([&] { return inside_->flooded; });
}

}  // namespace colock::test
