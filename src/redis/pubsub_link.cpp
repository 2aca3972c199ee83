#include "redis/link_settings.hpp"
#include "redis/pubsub_link.hpp"

#include <utility>

namespace colock {

using decide::reply;

namespace {

/// Between two questions for the role of the server. The link never writes, so no refusal tells it
/// that the server was demoted.
constexpr milliseconds between_roles{5'000};

/// A word of a push, "" if it has none at this place.
std::string_view word(resp::message const& push, std::size_t at)
{
    auto const nodes = push.nodes();
    return at + 1 < nodes.size() ? nodes[at + 1].text : std::string_view{};
}

}  // namespace

pubsub_link::pubsub_link(
    link_context const& context, listener& who, std::string name, unsigned index, address where
)
    : context_{context}
    , listener_{who}
    , index_{index}
    , loop_{std::make_shared<connection_loop>(
          context,
          static_cast<connection_loop::listener&>(*this),
          connection_loop::description{
              std::move(name), std::move(where), wanted_role(context.settings)},
          static_cast<resp::push_handler*>(this)
      )}
{}

pubsub_link::~pubsub_link()
{
    *alive_ = false;
    loop_->detach();
}

void pubsub_link::start()
{
    started_ = true;
    loop_->start();
}

void pubsub_link::stop()
{
    started_ = false;
    loop_->stop();
}

// ---- Asking ------------------------------------------------------------------------------------

void pubsub_link::change_subscriptions(subscription_change const& what, publishing how)
{
    bool const sharded = how == publishing::sharded || how == publishing::both;
    bool const plain = how != publishing::sharded;
    both_ = plain && sharded;
    changing_ = true;
    for (auto const& channel : what.unsubscribe) {
        if (plain)
            send("UNSUBSCRIBE", {"unsubscribe", channel});
        if (sharded)
            send("SUNSUBSCRIBE", {"sunsubscribe", channel});
    }
    for (auto const& channel : what.subscribe) {
        if (plain)
            send("SUBSCRIBE", {"subscribe", channel, !sharded});
        if (sharded)
            send("SSUBSCRIBE", {"ssubscribe", channel, true});
    }
    expect_pushes();
}

void pubsub_link::expect_pushes()
{
    loop_->pipeline().expect(
        static_cast<resp::reply_handler*>(this), clock::now(), resp::answered_by::push
    );
    loop_->flush();
}

void pubsub_link::send(std::string_view verb, asked what)
{
    loop_->pipeline().out().push(verb, std::string_view{what.channel});
    asked_.push_back(std::move(what));
}

// ---- Hearing -----------------------------------------------------------------------------------

bool pubsub_link::is_answered_by(resp::message const& push)
{
    return !asked_.empty() && asked_.front().event == word(push, 0) &&
        asked_.front().channel == word(push, 1);
}

// The confirmation of the first command that waits for one, or an error instead.
void pubsub_link::on_reply(resp::message const& got)
{
    if (asked_.empty())
        return;
    auto const answered = std::move(asked_.front());
    asked_.pop_front();
    auto const alive = alive_;
    if (!got.is_error()) {
        if (answered.confirms)
            listener_.on_confirmed(*this, answered.channel);
    } else if (loop_->restart_if_logged_out(got.first().text)) {
        // the next connection asks for all channels
    } else if (!answered.event.ends_with("unsubscribe")) {
        if (answered.event == "ssubscribe")
            end_plain_half(answered.channel);
        listener_.on_refused(*this, answered.channel, got.first().text);
    } else if (decide::classify(got.first().text) == decide::fault::not_now)
        // otherwise it would stay subscribed for ever
        loop_->restart(error::unavailable, redacted(got.first().text, context_.settings));
    if (*alive && asked_.empty())
        end_change();
}

void pubsub_link::end_change()
{
    if (std::exchange(changing_, false))
        listener_.on_changed(*this);
}

// The server has ended or refused the sharded half alone.
void pubsub_link::end_plain_half(std::string_view channel)
{
    if (!both_)
        return;
    send("UNSUBSCRIBE", {"unsubscribe", std::string{channel}});
    expect_pushes();
}

void pubsub_link::on_push(resp::message const& push)
{
    auto const kind = word(push, 0);
    if (kind == "message" || kind == "smessage")
        listener_.on_published(*this, word(push, 1), word(push, 2));
    else if (kind == "sunsubscribe") {  // the slot has moved, and this tells the subscribers
        end_plain_half(word(push, 1));
        listener_.on_ended(*this, word(push, 1));
    }
}

// ---- The connection ----------------------------------------------------------------------------

void pubsub_link::write_probe(resp::writer& to) { to.push("PING"); }

error_code pubsub_link::judge_probe(replies const& got)
{
    if (got.size() != 1)
        return error::bad_reply;
    if (got.front().what != reply::kind::error)
        return {};
    switch (decide::classify(got.front().text)) {
    case decide::fault::passing: return {};  // only writing is refused
    case decide::fault::not_now: return error::unavailable;
    default: return error::server_refused;
    }
}

void pubsub_link::on_up()
{
    asked_.clear();
    changing_ = false;
    // In a cluster the map says which nodes are primaries. Elsewhere a name may lead to a replica,
    // where no release finds this client.
    if (context_.settings.topology != topology::cluster)
        context_.set_alarm(role_look_, clock::now() + between_roles);
    listener_.on_pubsub_link_up(*this);
}

void pubsub_link::on_down(error_code why)
{
    role_look_.clear();
    listener_.on_pubsub_link_down(*this, started_ ? why : error::closed);
}

void pubsub_link::look_at_role()
{
    loop_->ask(
        [](resp::writer& out) { out.push("HELLO"); },
        [this](error_code ec, replies const& got) {
            if (!ec)
                judge_role(got.front());
        }
    );
}

void pubsub_link::judge_role(reply const& hello)
{
    if (!is_replica(hello))
        return context_.set_alarm(role_look_, clock::now() + between_roles);
    listener_.on_demoted(*this);
    loop_->leave_replica();
}

}  // namespace colock
