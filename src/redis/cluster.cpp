#include "redis/cluster.hpp"
#include "redis/link_settings.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

namespace colock {

using kind = decide::redirection::kind;

namespace {

/// How long another node's answer does not override the one of this node.
constexpr milliseconds hint_life{1'000};

/// Between two times at which holders and waiters hear of slots that have moved: a failover moves
/// thousands, answer by answer, and nodes may redirect to each other without end.
constexpr milliseconds between_tellings{100};

constexpr std::string_view unserved = "no node of the cluster serves the slot of the name";

/// To a step that is not sent any more. The server may have run a part of it before.
answer answer_to_unsent(step const& s)
{
    if (s.cut_off_at != time_point{})
        return {answer::kind::lost, {}, error::unavailable, s.cut_off_at};
    return {answer::kind::failed, {}, error::closed, {}};
}

}  // namespace

cluster::cluster(link_context context, transport_listener& who)
    : context_{std::move(context)}
    , listener_{who}
    , refresher_{context_, static_cast<topology_refresher::listener&>(*this)}
{}

cluster::~cluster()
{
    *alive_ = false;
    destroy_pending();
}

void cluster::start()
{
    started_ = true;
    if (moved_.any())  // since before a stop
        context_.set_alarm(tell_, clock::now());
    refresher_.start();
    for (auto const& [number, node] : nodes_)
        node->start();
}

void cluster::stop()
{
    started_ = false;
    tell_.clear();
    refresher_.stop();
    for (auto const& [number, node] : nodes_)
        node->stop();
    auto const end = [](step& s) { s.answered.set(answer_to_unsent(s)); };
    for (auto const& [slot, resting] : migrations_)
        for_each_taken(resting->take(), alive_, end);
    for_each_taken(std::move(unrouted_), alive_, end);
}

void cluster::destroy_pending() noexcept
{
    for (auto const& [number, node] : nodes_)
        node->destroy_pending();
    for (auto const& [slot, resting] : migrations_)
        resting->destroy_pending();
    destroy_tasks(unrouted_);
}

server_links& cluster::at(unsigned number)
{
    auto& node = nodes_[number];
    if (!node) {
        node = std::make_unique<server_links>(
            context_,
            static_cast<command_link::listener&>(*this),
            static_cast<pubsub_link::listener&>(*this),
            number,
            map_.nodes()[number],
            how_
        );
        if (started_)
            node->start();
    }
    return *node;
}

server_links* cluster::server_of(unsigned slot) const noexcept
{
    auto const at = nodes_.find(map_.owner_of(slot));
    return at == nodes_.end() ? nullptr : at->second.get();
}

// ---- Steps -------------------------------------------------------------------------------------

void cluster::submit(step& s)
{
    s.asking = false;
    if (auto* const server = server_of(s.slot))
        server->submit(s);
    else if (auto const why = refresher_.refusal(); !has_map_ && why)
        s.answered.set({answer::kind::failed, {}, why, {}});
    else {
        unrouted_.push_back(s);
        refresher_.refresh();
        if (has_map_)
            context_.log.write(
                log_level::warning,
                {"slots without a node"},
                std::string{unserved}
                    .append(": ")
                    .append(std::to_string(s.slot))
                    .append("; waiting for one. Remedy: redis-cli --cluster check")
            );
    }
}

bool cluster::withdraw(step& s) noexcept
{
    if (!s.is_linked() || s.cut_off_at != time_point{})
        return false;
    s.unlink();
    return true;
}

bool cluster::is_up(unsigned slot) const noexcept
{
    auto const* const server = server_of(slot);
    return server && server->link(slot).is_up();
}

void cluster::want_link(unsigned slot)
{
    if (auto* const server = server_of(slot))
        server->want(slot);
}

failure cluster::down_reason(unsigned slot) const noexcept
{
    if (auto const* const server = server_of(slot))
        return server->link(slot).down_reason();
    if (has_map_)
        return detail::unavailable(unserved);
    return refresher_.down_reason();
}

// ---- Slots that move ---------------------------------------------------------------------------

address cluster::target_of(decide::redirection const& to, address const& from) const
{
    return context_.reached_at({to.host.empty() ? from.host : to.host, to.port});
}

void cluster::on_redirect(
    command_link& from, step& s, decide::redirection const& to, time_point sent
)
{
    if (!started_) {
        auto const what = to.what == kind::cut_off ? answer::kind::lost : answer::kind::failed;
        return s.answered.set({what, {}, error::closed, sent});
    }
    bool const is_divisible = s.whole && s.keys.size() > 1;
    auto const where = target_of(to, from.where());
    bool const is_sent_home =
        (to.what == kind::moved || to.what == kind::ask) && where == from.where();
    if (is_sent_home) {
        refresher_.refresh();
        warn_of_address(where);
        return settle_dispute(s);
    }
    switch (to.what) {
    case kind::moved: on_moved(s, to.slot, where); break;
    case kind::down:
        troubled_until_ = clock::now() + hint_life;
        refresher_.refresh();
        s.answered.set({answer::kind::not_now, {}, error::unavailable, sent});
        break;
    case kind::ask:
        if (s.asking)  // a slot that moves back, before all nodes know it
            return settle_dispute(s);
        if (!is_divisible && !s.what.traits.looks_around) {  // see scripts/README.md
            s.asking = s.alone = true;
            at(map_.number_of(where)).submit(s);
            break;
        }
        [[fallthrough]];
    case kind::try_again:
        if (is_divisible)
            s.answered.set({answer::kind::failed, {}, error::unavailable, sent, true});
        else
            rest(s, slot_migration::while_it_moves);
        break;
    case kind::cut_off:
        // It may have begun. Its sender sends it again if it still wants it.
        s.cut_off_at = sent;
        rest(s, slot_migration::while_it_moves);
        break;
    case kind::none: s.answered.set({answer::kind::failed, {}, error::bad_reply, sent}); break;
    }
}

/// Nodes that announce one address for several of them send everybody back to where they came from.
void cluster::warn_of_address(address const& where)
{
    context_.warn_once(
        describe(where) + " says that a slot has moved to " + describe(where) +
        ", which is its own address. Remedy: an address of its own for each node "
        "(cluster-announce-ip, cluster-announce-port)"
    );
}

/// Nodes send the step to and fro: only waiting helps. The sender of a renewal of many makes a new
/// one.
void cluster::settle_dispute(step& s)
{
    if (s.whole)
        s.answered.set({answer::kind::not_now, {}, error::unavailable, {}});
    else
        rest(s, slot_migration::in_a_dispute);
}

void cluster::on_moved(step& s, unsigned slot, address const& where)
{
    refresher_.refresh();
    // The sender makes a new renewal of many: over another link, this one could come after a newer
    // extension.
    if (s.whole) {
        s.answered.set({answer::kind::not_now, {}, error::unavailable, {}});
        note_hint(slot, where);
        return;
    }
    // Two nodes may redirect to each other for a moment, and a node may refuse ASKING.
    bool const is_sent_back = s.asking || std::exchange(s.moved, true);
    note_hint(slot, where);
    if (is_sent_back)
        rest(s, slot_migration::in_a_dispute);
    else
        submit(s);
}

void cluster::rest(step& s, milliseconds longest)
{
    auto& resting = migrations_[s.slot];
    if (!resting)
        resting = std::make_unique<slot_migration>(
            context_, static_cast<slot_migration::listener&>(*this)
        );
    resting->rest(s, longest);
}

void cluster::on_rested(step_list rested)
{
    for_each_taken(std::move(rested), alive_, [this](step& s) {
        s.moved = false;
        if (s.cut_off_at != time_point{})
            s.answered.set(answer_to_unsent(s));
        else
            submit(s);
    });
}

void cluster::note_hint(unsigned slot, address const& where)
{
    hints_[slot] = {where, clock::now()};
    refresher_.note(where);
    if (!map_.move(slot, where))
        return;
    decide::slot_set changed;
    changed.set(slot);
    moved_ |= changed;
    if (!tell_.is_set())
        context_.set_alarm(tell_, std::max(clock::now(), told_ + between_tellings));
    route(changed);
}

// A node that is cut off from the others answers from memory.
void cluster::keep_hints(decide::slot_set& changed)
{
    auto const now = clock::now();
    std::erase_if(hints_, [&](auto const& b) { return now - b.second.since >= hint_life; });
    for (auto const& [slot, known] : hints_)
        if (map_.move(slot, known.owner)) {
            changed.flip(slot);
            troubled_until_ = now + hint_life;
        }
}

// Waiting steps go to the node that now has their slot.
void cluster::route(decide::slot_set const& changed)
{
    for (unsigned slot = 0; slot != decide::slot_count; ++slot)
        if (changed[slot])
            at(map_.owner_of(slot));
    step_list again;
    again.swap(unrouted_);
    for (auto const& [number, node] : nodes_)
        node->take_waiting(again, [&](step const& s) { return changed[s.slot]; });
    send_again(std::move(again));
}

// Their holders renew over the new node, and their waiters listen and ask there.
void cluster::tell_of_moved()
{
    auto const alive = alive_;
    auto const changed = std::exchange(moved_, {});
    told_ = clock::now();
    tell_.clear();
    listener_.on_rerouted();
    if (*alive)
        listener_.on_reached([&](unsigned slot) { return changed[slot]; });
}

void cluster::send_again(step_list taken)
{
    for_each_taken(std::move(taken), alive_, [this](step& s) { submit(s); });
}

// Steps that were sent there because of a key or an old map are routed again.
void cluster::reclaim(command_link& from)
{
    step_list again;
    from.take_waiting(again, [&](step const& s) {
        auto const* const server = server_of(s.slot);
        return s.asking || !server || !server->has(from);
    });
    send_again(std::move(again));
}

// They come back if they serve slots again. A node may be about to get its first slot, and may be
// asked for keys that have arrived already. Nodes that have left a cluster get new addresses again
// and again, so their links are destroyed when they have ended, which is by a later map.
void cluster::retire_idle()
{
    std::erase_if(nodes_, [this](auto const& each) {
        auto const& [number, node] = each;
        if (map_.serves(number))
            return false;
        node->retire();
        return node->is_over();
    });
}

// ---- The refresher of the map -------------------------------------------------------------------

void cluster::on_map(std::vector<decide::slot_range> const& ranges, bool has_sharded)
{
    if (!std::exchange(has_map_, true))
        how_ = context_.settings.publish != publishing::automatic ? context_.settings.publish
            : has_sharded                                         ? publishing::sharded
                                                                  : publishing::plain;
    context_.known->replicas.note(ranges, map_);
    auto const alive = alive_;
    auto changed = map_.assign(ranges);
    keep_hints(changed);
    if (changed.any()) {
        moved_ |= changed;
        route(changed);
    }
    if (*alive && moved_.any())  // also by hints: nobody is to join a node that retires now
        tell_of_moved();
    if (*alive)
        retire_idle();
}

void cluster::on_refresh_refused(failure why)
{
    if (!has_map_)
        fail_all(std::move(unrouted_), alive_, why);
}

// A link that is down may lead to a primary that no longer exists.
bool cluster::is_content() const
{
    return map_.is_whole() && clock::now() >= troubled_until_ &&
        std::ranges::all_of(nodes_, [](auto const& each) { return each.second->is_content(); });
}

// ---- Links -------------------------------------------------------------------------------------

std::size_t cluster::links_up() const noexcept
{
    std::size_t count = 0;
    for (auto const& [number, node] : nodes_)
        count += node->links_up();
    return count;
}

void cluster::on_command_link_up(command_link& link)
{
    for (auto const& [number, node] : nodes_)
        if (node->has(link))
            node->note_server(link);
    listener_.on_link_up(link.index(), link.epoch());
    if (link.epoch() == 1)
        return;
    listener_.on_reached([&](unsigned slot) {
        auto const* const server = server_of(slot);
        return server && &server->link(slot) == &link;
    });
}

void cluster::on_command_link_down(command_link& link, error_code why)
{
    auto const alive = alive_;
    listener_.on_link_down(link.index(), why);
    if (!*alive || !started_)
        return;
    if (link.is_started())  // else nothing needs it
        refresher_.refresh_soon();
    reclaim(link);
}

// Another node may have its slots by now, even if this node was never reached.
void cluster::on_command_link_failed(command_link& link)
{
    if (!started_)
        return;
    refresher_.refresh();
    reclaim(link);
}

unsigned cluster::pubsub_of(std::string_view channel) const noexcept
{
    auto const owner = map_.owner_of(decide::slot_of(channel));
    return owner == decide::slot_map::nobody ? no_pubsub : owner;
}

void cluster::want_pubsub(unsigned pubsub)
{
    if (pubsub != no_pubsub)  // else `on_rerouted` follows when it is known
        at(pubsub).want_pubsub();
}

void cluster::change_subscriptions(unsigned pubsub, subscription_change const& what)
{
    at(pubsub).pubsub().change_subscriptions(what, how_);
}

void cluster::on_pubsub_link_up(pubsub_link& link)
{
    listener_.on_pubsub_up(link.index(), link.epoch());
}
void cluster::on_pubsub_link_down(pubsub_link& link, error_code why)
{
    listener_.on_pubsub_down(link.index(), why);
    on_pubsub_link_failed(link);
}
void cluster::on_pubsub_link_failed(pubsub_link& link)
{
    if (started_ && link.is_started())
        refresher_.refresh();
}
void cluster::on_changed(pubsub_link& link) { listener_.on_changed(link.index()); }

void cluster::on_confirmed(pubsub_link& link, std::string_view channel)
{
    listener_.on_subscribed(link.index(), channel);
}

void cluster::on_refused(pubsub_link& link, std::string_view channel, std::string_view why)
{
    auto const to = decide::read_redirection(why);
    if (to.what == kind::moved)
        note_hint(to.slot, target_of(to, link.where()));
    if (to.what != kind::none)
        refresher_.refresh();
    listener_.on_refused(link.index(), channel, why);
}

void cluster::on_ended(pubsub_link& link, std::string_view channel)
{
    refresher_.refresh();
    listener_.on_ended(link.index(), channel);
}

void cluster::on_published(pubsub_link& link, std::string_view channel, std::string_view payload)
{
    listener_.on_message(link.index(), channel, payload);
}

}  // namespace colock
