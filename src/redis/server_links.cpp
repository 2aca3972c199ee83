#include "redis/link_settings.hpp"
#include "redis/server_links.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

namespace colock {

namespace {

/// With this many steps under way on one link, more links are used; with this few on each, fewer.
constexpr std::size_t much = 48;
constexpr std::size_t little = 12;
constexpr milliseconds between_looks{1'000};

/// Steps are held back no longer than this, because one link may hang. If that was too short, the
/// next time it is twice as long, and comes after five times as long.
constexpr milliseconds first_hold{200};
constexpr milliseconds longest_hold{2'000};
constexpr int between_holds = 5;

/// Many servers share the work: fewer links to each mean larger requests.
std::size_t links_to_share(config const& c) noexcept
{
    auto const links = std::clamp(c.links, 1U, 64U);
    return c.topology == topology::cluster ? (links + 1) / 2 : links;
}

}  // namespace

server_links::server_links(
    link_context const& context,
    command_link::listener& commands,
    pubsub_link::listener& pushes,
    unsigned number,
    address const& where,
    publishing publish
)
    : context_{context}
    , lanes_{links_to_share(context.settings)}
    , hold_limit_{first_hold}
    , look_{[this] { look_at_load(); }}
{
    auto const first = number * links_a_server(context.settings);
    bool const is_node = context.settings.topology == topology::cluster;
    auto const server = is_node ? describe(where) : describe_servers(context.settings);
    auto const name = [server](std::string const& purpose) {
        return server + " (" + purpose + ")";
    };
    make_link_ = [=, this, &context, &commands](std::size_t i, address const& to) {
        auto made = std::make_unique<command_link>(
            context,
            commands,
            command_link::description{
                name(i == 0 ? "commands" : "commands " + std::to_string(i + 1)),
                first + i,
                to,
                publish}
        );
        made->when_answered([this] { on_answered(); });
        return made;
    };
    links_.reserve(lanes_);  // one may be made while they are gone through
    links_.push_back(make_link_(0, where));
    pubsub_ = std::make_unique<pubsub_link>(context, pushes, name("messages"), number, where);
}

void server_links::start()
{
    started_ = true;
    for (auto const& each : links_)
        if (each->has_waiting())
            open(*each);
    if (pubsub_wanted_)
        pubsub_->start();
}

void server_links::stop()
{
    started_ = false;
    look_.clear();
    holding_ = false;
    wanted_ = active_;
    pubsub_wanted_ = false;
    auto const alive = alive_;
    fail_all(std::move(held_), alive_, error::closed);
    for (auto const& each : links_)
        if (*alive)
            each->stop();
    if (*alive)
        pubsub_->stop();
}

void server_links::follow(address const& primary)
{
    for (auto const& each : links_)
        each->follow(primary);
    pubsub_->follow(primary);
}

void server_links::note_server(command_link const& newest)
{
    // A name may lead to replicas too, and the next refusal to write ends the link there.
    if (newest.is_replica() || newest.run_id().empty() || newest.run_id() == run_id_)
        return;
    if (std::exchange(run_id_, newest.run_id()).empty())
        return;
    pubsub_->renew_connection();
    bool is_left = false;
    for (auto const& each : links_)
        if (each->run_id() != run_id_)
            is_left = each->renew_connection() || is_left;
    // Where one of several servers is the primary, another one becomes it in each failover.
    if (is_left && wanted_role(context_.settings) == set_up::role::any)
        context_.warn_once(
            describe(newest.where()) +
            " leads to another server than before, and not all connections to the old one have "
            "ended; they are made again. Remedy: see that only one of the two is a primary"
        );
}

void server_links::leave_replica(std::optional<connection::endpoint> const& peer)
{
    for (auto const& each : links_)
        if (each->is_up() && each->peer() == peer)
            each->leave_replica();
}

void server_links::retire()
{
    for (auto const& each : links_)
        if (each->is_started() && each->is_idle())
            each->stop();
    if (holding_)
        give_up_sharing();
    look_.clear();  // it would open them again
    wanted_ = active_;
    if (std::exchange(pubsub_wanted_, false))
        pubsub_->stop();
}

bool server_links::is_over() const noexcept
{
    auto const has_ended = [](auto const& each) { return !each->is_started() && !each->is_up(); };
    return held_.empty() && has_ended(pubsub_) &&
        std::ranges::all_of(links_, [&](auto const& each) {
               return has_ended(each) && each->is_idle() && !each->has_lost();
           });
}

void server_links::open(command_link& which)
{
    if (started_ && !which.is_started())
        which.start();
}

void server_links::submit(step& s)
{
    if (holding_)
        return held_.push_back(s);
    adapt(link(s.slot).under_way());
    if (holding_)
        return held_.push_back(s);
    command_link& to = link(s.slot);
    open(to);
    to.submit(s);
}

// ---- How many links -----------------------------------------------------------------------------

void server_links::adapt(std::size_t under_way)
{
    if (!started_)
        return;
    if (active_ > 1 && !look_.is_set())  // after a stop, or while a node had no slots
        context_.set_alarm(look_, clock::now() + between_looks);
    most_under_way_ = std::max(most_under_way_, under_way);
    if (under_way >= much && wanted_ == active_ && active_ < lanes_)
        open_for(std::min(2 * active_, lanes_));
    if (wanted_ == active_ || !can_share_anew() || clock::now() < next_hold_)
        return;
    holding_ = true;
    context_.set_alarm(look_, clock::now() + hold_limit_);
    on_answered();
}

void server_links::open_for(std::size_t links)
{
    while (links_.size() < links)
        links_.push_back(make_link_(links_.size(), links_.front()->where()));
    wanted_ = links;
    for (std::size_t i = 0; i != links; ++i)
        open(*links_[i]);
    if (!look_.is_set())
        context_.set_alarm(look_, clock::now() + between_looks);
}

void server_links::look_at_load()
{
    if (holding_)
        return give_up_sharing();
    if (most_under_way_ < little)
        wanted_ = std::max<std::size_t>(active_ / 2, 1);
    else if (wanted_ > active_ && !can_share_anew())
        wanted_ = active_;  // the new links have not come up
    most_under_way_ = 0;
    for (std::size_t i = 0; wanted_ < active_ && i != active_; ++i)
        open(*links_[i]);
    if (wanted_ > 1 || active_ > 1)
        context_.set_alarm(look_, clock::now() + between_looks);
}

void server_links::give_up_sharing()
{
    wanted_ = active_;
    next_hold_ = clock::now() + between_holds * hold_limit_;
    hold_limit_ = std::min(2 * hold_limit_, longest_hold);
    context_.set_alarm(look_, clock::now() + between_looks);
    submit_held();
}

// A link that has lost a step keeps its slots: the step may still run, and its undo must come after
// it.
bool server_links::can_share_anew() const noexcept
{
    for (std::size_t i = 0; i != std::max(active_, wanted_); ++i)
        if (!links_[i]->is_up() || links_[i]->has_lost())
            return false;
    return true;
}

void server_links::on_answered()
{
    if (!holding_)
        return;
    if (!can_share_anew())
        return submit_held();
    if (std::ranges::all_of(links_, [](auto const& each) { return each->is_idle(); }))
        share_anew();
}

void server_links::share_anew()
{
    active_ = wanted_;
    hold_limit_ = first_hold;
    if (active_ > 1)
        context_.set_alarm(look_, clock::now() + between_looks);
    else
        look_.clear();
    submit_held();
}

void server_links::submit_held()
{
    holding_ = false;
    for_each_taken(std::move(held_), alive_, [this](step& s) { submit(s); });
}

void server_links::want_pubsub()
{
    pubsub_wanted_ = true;
    if (started_ && !pubsub_->is_started())
        pubsub_->start();
}

void server_links::destroy_pending() noexcept
{
    destroy_tasks(held_);
    for (auto const& each : links_)
        each->destroy_pending();
}

bool server_links::has(command_link const& which) const noexcept
{
    return std::ranges::any_of(links_, [&](auto const& each) { return each.get() == &which; });
}

std::size_t server_links::links_up() const noexcept
{
    auto const up = std::ranges::count_if(links_, [](auto const& each) { return each->is_up(); });
    return static_cast<std::size_t>(up) + (pubsub_->is_up() ? 1 : 0);
}

bool server_links::is_content() const noexcept
{
    auto const is_well = [](auto const& each) { return !each->is_started() || each->is_up(); };
    return std::ranges::all_of(links_, is_well) && is_well(pubsub_);
}

}  // namespace colock
