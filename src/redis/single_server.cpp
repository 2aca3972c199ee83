#include "redis/link_settings.hpp"
#include "redis/single_server.hpp"

#include <utility>

namespace colock {

namespace {

/// `run()` reports errors of the addresses.
address first_of(config const& settings)
{
    return settings.addresses.empty() ? address{} : settings.addresses.front();
}

}  // namespace

single_server::single_server(link_context context, transport_listener& who)
    : context_{std::move(context)}
    , listener_{who}
    , links_{
          context_,
          static_cast<command_link::listener&>(*this),
          static_cast<pubsub_link::listener&>(*this),
          0,
          first_of(context_.settings),
          publishing::plain}
{}

// One link is opened at once, so that errors show before the first lock.
void single_server::start()
{
    links_.start();
    links_.want(0);
}

bool single_server::withdraw(step& s) noexcept
{
    bool const is_waiting = s.is_linked();
    s.unlink();
    return is_waiting;
}

unsigned single_server::lane_of(unsigned slot) const noexcept { return links_.lane_of(slot); }

failure single_server::down_reason(unsigned slot) const noexcept
{
    return links_.link(slot).down_reason();
}

void single_server::change_subscriptions(unsigned, subscription_change const& what)
{
    links_.pubsub().change_subscriptions(what, publishing::plain);
}

void single_server::on_command_link_up(command_link& link)
{
    links_.note_server(link);
    listener_.on_link_up(link.index(), link.epoch());
    if (link.epoch() != 1)
        listener_.on_reached([&](unsigned slot) { return &links_.link(slot) == &link; });
    follow(link);
}

void single_server::on_pubsub_link_up(pubsub_link& link)
{
    listener_.on_pubsub_up(0, link.epoch());
    follow(link);
}

// Another link may still be with a server that was the primary before. It notices nothing if it
// never writes there, or if that server is cut off from those that made another one the primary.
template <class Link>
void single_server::follow(Link const& which)
{
    if (which.is_primary_known())
        links_.follow(address{which.where()});
}

void single_server::on_command_link_down(command_link& link, error_code why)
{
    // The pub/sub link never writes, so it would stay with a server that is a replica by now.
    auto& pubsub = links_.pubsub();
    if (is_refused_write(why) && pubsub.is_up() && pubsub.peer() == link.peer())
        pubsub.restart(why);
    listener_.on_link_down(link.index(), why);
}

// A server outside a cluster redirects nobody. A node of a cluster may say that it is none.
void single_server::on_redirect(
    command_link& from, step& s, decide::redirection const&, time_point sent
)
{
    context_.warn_once(
        describe(from.where()) +
        " redirects to other servers, as a node of a cluster does. Remedy: redis+cluster://"
    );
    s.answered.set({answer::kind::failed, {}, error::wrong_topology, sent});
}

// A client that only waits would go on asking there.
void single_server::on_demoted(pubsub_link& link) { links_.leave_replica(link.peer()); }

void single_server::on_confirmed(pubsub_link&, std::string_view channel)
{
    listener_.on_subscribed(0, channel);
}

void single_server::on_refused(pubsub_link&, std::string_view channel, std::string_view why)
{
    listener_.on_refused(0, channel, why);
}

void single_server::on_ended(pubsub_link&, std::string_view channel)
{
    listener_.on_ended(0, channel);
}

void single_server::on_published(pubsub_link&, std::string_view channel, std::string_view payload)
{
    listener_.on_message(0, channel, payload);
}

}  // namespace colock
