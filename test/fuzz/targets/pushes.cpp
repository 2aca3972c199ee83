// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What comes in over the connection for subscriptions, through Boost.Redis as it is: a real link,
// whose server is at the other end of a unix socket in this process and sends the input. What the
// link tells is what the server has sent: each published message in its order, and of what was
// asked for each outcome once.
#include "fuzz/link_lab.hpp"
#include "fuzz/wire.hpp"
#include "redis/push_link.hpp"

#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <vector>

namespace colock::fuzz {

namespace {

using boost::redis::any_adapter;
using boost::redis::resp3::type;
using socket_protocol = asio::local::stream_protocol;
using published = std::pair<std::string, std::string>;

/// A name of Linux's abstract kind: no file is left over.
std::string socket_name()
{
    using namespace std::string_literals;
    return "\0colock-fuzz-"s + std::to_string(::getpid());
}

/// What the bytes publish, as anybody would read them.
struct publications {
    explicit publications(std::string_view bytes)
    {
        any_adapter into{any_adapter::impl_t{
            [this](any_adapter::parse_event what, auto const& node, error_code&) {
                take(what, node);
            }}};
        wire from{bytes};
        while (from.next(into)) {}
        is_whole = !from.has_failed();
    }

    std::vector<published> surely;   ///< in pushes
    std::vector<published> perhaps;  ///< and in what has a push inside, as no server sends
    bool is_whole;                   ///< nothing but messages

private:
    void take(any_adapter::parse_event what, boost::redis::resp3::node_view const& node)
    {
        using event = any_adapter::parse_event;
        if (what == event::init) {
            words_.clear();
            has_push_ = is_push_ = false;
        } else if (what == event::node && node.data_type == type::push) {
            has_push_ = true;
            is_push_ = is_push_ || node.depth == 0;
        } else if (what == event::node)
            words_.emplace_back(node.value);
        else if (has_push_ && words_.size() == 3 && (words_[0] == "message" || words_[0] == "smessage")) {
            perhaps.emplace_back(words_[1], words_[2]);
            if (is_push_)
                surely.push_back(perhaps.back());
        }
    }

    std::vector<std::string> words_;
    bool has_push_ = false;
    bool is_push_ = false;
};

/// All of the few are among the many, in the same order.
bool is_among(std::vector<published> const& few, std::vector<published> const& many)
{
    auto at = many.begin();
    for (auto const& each : few) {
        at = std::find(at, many.end(), each);
        if (at++ == many.end())
            return false;
    }
    return true;
}

/// Who asks for subscriptions, and checks what it is told.
class subscriber final : public push_link::listener {
public:
    /// Of the first change and of the one after it.
    subscriber(publishing how, unsigned changes) : how_{how}, changes_{changes} {}

    std::vector<published> heard;

    void on_push_link_up(push_link& link) override
    {
        require(!std::exchange(is_up_, true), "a link comes up once");
        ask(link);
    }

    void on_push_link_down(push_link&) override
    {
        require(std::exchange(is_up_, false), "what goes down was up");
    }

    void on_confirmed(push_link&, std::string_view channel) override { settle(channel); }

    void on_refused(push_link&, std::string_view channel, std::string_view) override
    {
        settle(channel);
    }

    void on_changed(push_link& link) override
    {
        require(std::exchange(is_changing_, false), "a change ends once");
        if (--changes_ != 0)
            ask(link);
    }

    void on_ended(push_link&, std::string_view) override {}

    void on_published(std::string_view channel, std::string_view payload) override
    {
        heard.emplace_back(channel, payload);
    }

private:
    void ask(push_link& link)
    {
        is_changing_ = true;
        open_.clear();
        // With both commands for a channel each may be refused.
        int const outcomes = how_ == publishing::both ? 2 : 1;
        open_["a"] = open_["b"] = outcomes;
        link.change({{"a", "b"}, {"c"}}, how_);
    }

    void settle(std::string_view channel)
    {
        require(is_up_ && is_changing_, "an outcome is that of a change");
        auto const at = open_.find(channel);
        require(at != open_.end() && at->second-- > 0, "an outcome is of what was asked, once");
    }

    publishing how_;
    unsigned changes_;
    bool is_up_ = false;
    bool is_changing_ = false;
    std::map<std::string, int, std::less<>> open_;
};

/// A client and its server, in turns until nothing happens any more.
class conversation {
public:
    explicit conversation(link_lab& lab, subscriber& who)
        : lab_{lab}
        , acceptor_{lab.io, socket_protocol::endpoint{lab.settings.addresses.front().unix_socket}}
        , peer_{lab.io}
        , link_{lab.context, who, "pushes", 0, lab.settings.addresses.front()}
    {
        acceptor_.async_accept(peer_, [](error_code) {});
        link_.start();
        run();
        require(peer_.is_open(), "a connection comes up");
    }

    ~conversation()
    {
        link_.stop();
        error_code ec;
        peer_.close(ec);
        acceptor_.close(ec);
        run();
    }

    void send(std::string_view bytes)
    {
        error_code ec;
        asio::write(peer_, asio::buffer(bytes), ec);
        run();
    }

private:
    void run()
    {
        lab_.io.restart();
        while (lab_.io.poll() != 0) {}
    }

    link_lab& lab_;
    socket_protocol::acceptor acceptor_;
    socket_protocol::socket peer_;
    push_link link_;
};

}  // namespace

void pushes(std::string_view input);

// The first byte says what is asked for, and whether the input begins before the link is up.
void pushes(std::string_view input)
{
    if (input.empty())
        return;
    auto const choice = static_cast<unsigned char>(input.front());
    auto const bytes = without_fatal_headers(input.substr(1).substr(0, 4'096));
    constexpr publishing ways[]{
        publishing::plain, publishing::sharded, publishing::both, publishing::plain};
    bool const from_the_start = (choice & 4U) != 0;

    config c;
    c.addresses.front().unix_socket = socket_name();
    link_lab lab{c};
    subscriber who{ways[choice & 3U], 1U + (choice >> 3U & 3U)};
    {
        conversation with{lab, who};
        if (!from_the_start) {
            with.send("+OK\r\n+PONG\r\n");
            with.send("$0\r\n\r\n");
        }
        with.send(bytes);
    }
    lab.check_lines(bytes);
    publications const sent{bytes};
    require(is_among(who.heard, sent.perhaps), "what is heard was published, in this order");
    require(
        from_the_start || !sent.is_whole || is_among(sent.surely, who.heard),
        "what was published is heard"
    );
}

}  // namespace colock::fuzz
