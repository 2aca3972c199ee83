// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// What a server sends over the connection for subscriptions. The link and its connection are real;
// the server is the other end of a unix socket in this process and sends the input. The link must
// pass on each published message, in order, and tell the outcome of each channel that it was asked
// for.
#include "fuzz/fuzz.hpp"
#include "redis/link_settings.hpp"
#include "redis/pubsub_link.hpp"
#include "resp/parser.hpp"

#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/write.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <vector>

namespace colock::fuzz {

namespace {

using socket_protocol = asio::local::stream_protocol;
using published = std::pair<std::string, std::string>;

/// In Linux's abstract namespace, so that no file is left over.
std::string socket_name()
{
    using namespace std::string_literals;
    return "\0colock-fuzz-"s + std::to_string(::getpid());
}

/// What the bytes publish, and whose subscriptions they end.
struct publications {
    explicit publications(std::string_view bytes)
    {
        resp::parser from;
        while (!bytes.empty()) {
            auto const room = from.prepare();
            auto const size = std::min(room.size(), bytes.size());
            std::memcpy(room.data(), bytes.data(), size);
            from.commit(size);
            bytes.remove_prefix(size);
            auto found = from.next();
            for (; found == resp::parser::outcome::message; found = from.next())
                take(from.last());
            if (found == resp::parser::outcome::broken)
                return;
        }
    }

    std::vector<published> messages;
    std::vector<std::string> ended;

private:
    void take(resp::message const& m)
    {
        auto const nodes = m.nodes();
        auto const word = [&](std::size_t at) {
            return at < nodes.size() ? std::string{nodes[at].text} : std::string{};
        };
        if (!m.is_push())
            return;
        if (word(1) == "message" || word(1) == "smessage")
            messages.emplace_back(word(2), word(3));
        else if (word(1) == "sunsubscribe")
            ended.push_back(word(2));
    }
};

/// All of the few are among the many, in the same order.
template <class T>
bool is_among(std::vector<T> const& few, std::vector<T> const& many)
{
    auto at = many.begin();
    for (auto const& each : few) {
        at = std::find(at, many.end(), each);
        if (at++ == many.end())
            return false;
    }
    return true;
}

template <class T>
bool is_begin_of(std::vector<T> const& whole, std::vector<T> const& begin)
{
    return begin.size() <= whole.size() && std::equal(begin.begin(), begin.end(), whole.begin());
}

/// Asks for subscriptions, and checks what the link tells it.
class subscriber final : public pubsub_link::listener {
public:
    /// Asks for so many changes, one after the other.
    subscriber(config const& settings, publishing how, unsigned changes)
        : settings_{settings}
        , how_{how}
        , changes_{changes}
    {}

    std::vector<published> heard;
    std::vector<std::string> ended;

    bool is_up() const noexcept { return is_up_; }

    void on_pubsub_link_up(pubsub_link& link) override
    {
        require(!std::exchange(is_up_, true), "a link comes up once");
        ask(link);
    }

    void on_pubsub_link_down(pubsub_link&, error_code) override
    {
        require(std::exchange(is_up_, false), "what goes down was up");
    }

    void on_confirmed(pubsub_link&, std::string_view channel) override
    {
        auto& what = outcome_of(channel);
        require(!std::exchange(what.is_confirmed, true), "a channel is confirmed once");
    }

    void on_refused(pubsub_link&, std::string_view channel, std::string_view why) override
    {
        outcome_of(channel);
        // A redirection is read from the server's own words; what is logged is this.
        auto const shown = redacted(why, settings_);
        require(shown.find(link_lab::secret) == shown.npos, "no reason shows the password");
    }

    void on_changed(pubsub_link& link) override
    {
        require(std::exchange(is_changing_, false), "a change ends once");
        for (auto const& [channel, what] : asked_)
            require(what.told != 0, "at the end of a change each channel has its outcome");
        if (--changes_ != 0)
            ask(link);
    }

    void on_ended(pubsub_link&, std::string_view channel) override { ended.emplace_back(channel); }

    void on_published(pubsub_link&, std::string_view channel, std::string_view payload) override
    {
        heard.emplace_back(channel, payload);
    }

private:
    struct outcome {
        int told = 0;
        bool is_confirmed = false;
    };

    void ask(pubsub_link& link)
    {
        is_changing_ = true;
        asked_ = {{"a", {}}, {"b", {}}};
        link.change_subscriptions({{"a", "b"}, {"c"}}, how_);
    }

    outcome& outcome_of(std::string_view channel)
    {
        require(is_up_ && is_changing_, "an outcome belongs to a change");
        auto const at = asked_.find(channel);
        require(at != asked_.end(), "an outcome is that of a channel that was asked for");
        // With both commands for a channel each may be refused.
        ++at->second.told;
        require(at->second.told <= (how_ == publishing::both ? 2 : 1), "an outcome is told once");
        return at->second;
    }

    config const& settings_;
    publishing how_;
    unsigned changes_;
    bool is_up_ = false;
    bool is_changing_ = false;
    std::map<std::string, outcome, std::less<>> asked_;
};

/// A link and its server. They take turns until nothing happens any more.
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
        std::string asked(peer_.available(), '\0');
        error_code ec;
        asked.resize(peer_.read_some(asio::buffer(asked), ec));
        constexpr std::string_view ping = "PING\r\n";
        auto const at = asked.rfind(ping);
        require(at != asked.npos, "the set-up has a PING");
        number_ = asked.substr(at + ping.size());
        require(number_.starts_with('$'), "its last PING has a number");
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

    /// The input, with the number of this connection behind each `+PONG`: the set-up ends with two
    /// PINGs, and the second one has a number that comes back as a text.
    std::string with_number(std::string_view input) const
    {
        constexpr std::string_view mark = "+PONG\r\n";
        std::string text;
        for (auto found = input.find(mark); found != input.npos; found = input.find(mark)) {
            auto const end = found + mark.size();
            text.append(input.substr(0, end)).append(number_);
            input.remove_prefix(end);
        }
        return text.append(input);
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
    pubsub_link link_;
    std::string number_;  ///< of the set-up's last PING, as the server sends it back
};

}  // namespace

void pushes(std::string_view input);

// The first byte says what is asked for, whether the input begins before the link is up, and
// whether it comes in small pieces.
void pushes(std::string_view input)
{
    if (input.empty())
        return;
    auto const choice = static_cast<unsigned char>(input.front());
    constexpr publishing ways[]{
        publishing::plain, publishing::sharded, publishing::both, publishing::plain};
    bool const from_the_start = (choice & 4U) != 0;

    config c;
    c.addresses.front().unix_socket = socket_name();
    link_lab lab{c};
    subscriber who{lab.settings, ways[choice & 3U], 1U + (choice >> 3U & 3U)};
    bool is_up_still = false;
    std::string bytes{input.substr(1).substr(0, 4'096)};
    {
        conversation with{lab, who};
        bytes = with.with_number(bytes);
        if (!from_the_start) {
            with.send(with.with_number("%1\r\n$4\r\nrole\r\n$6\r\nmaster\r\n+PONG\r\n"));
            require(who.is_up(), "the link comes up");
        }
        std::size_t const piece = (choice & 32U) != 0 ? 7 : bytes.size();
        for (std::string_view rest = bytes; !rest.empty();
             rest.remove_prefix(std::min(piece, rest.size())))
            with.send(rest.substr(0, piece));
        is_up_still = who.is_up();
    }
    require(!who.is_up(), "a link that was stopped is down");
    publications const sent{bytes};
    require(is_begin_of(sent.messages, who.heard), "each message is heard once, in order");
    require(
        !is_up_still || who.heard.size() == sent.messages.size(),
        "while the link is up no message is lost"
    );
    require(is_among(who.ended, sent.ended), "a subscription ends if the server says so");
}

}  // namespace colock::fuzz
