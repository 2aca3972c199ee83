#include "redis/server_links.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace colock {

namespace {

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
    push_link::listener& pushes,
    unsigned number,
    address const& where,
    publishing publish
)
    : sharing_{links_to_share(context.settings)}
{
    auto const first = number * links_a_server(context.settings);
    auto const name = [&](std::string const& what) {
        return number == 0 ? what : what + " of " + describe(where);
    };
    for (std::size_t i = 0; i != sharing_; ++i)
        links_.push_back(std::make_unique<command_link>(
            context,
            commands,
            command_link::place{name("link " + std::to_string(i)), first + i, where, publish}
        ));
    links_.push_back(std::make_unique<command_link>(
        context,
        commands,
        command_link::place{name("sync link"), first + sharing_ + 1, where, publish, true}
    ));
    push_ = std::make_unique<push_link>(context, pushes, name("push link"), number, where);
}

void server_links::start()
{
    started_ = true;
    for (auto const& each : links_)
        if (each->has_waiting())
            open(*each);
    if (push_wanted_)
        push_->start();
}

void server_links::stop()
{
    started_ = false;
    for (auto const& each : links_)
        each->stop();
    push_->stop();
}

void server_links::retire()
{
    for (auto const& each : links_)
        if (each->is_started() && each->is_idle())
            each->stop();
    if (std::exchange(push_wanted_, false))
        push_->stop();
}

void server_links::open(command_link& which)
{
    if (started_ && !which.is_started())
        which.start();
}

void server_links::submit(step& s)
{
    command_link& to = s.synced ? *links_.back() : link(s.slot);
    open(to);
    to.submit(s);
}

void server_links::want_push()
{
    push_wanted_ = true;
    if (started_ && !push_->is_started())
        push_->start();
}

void server_links::abandon() noexcept
{
    for (auto const& each : links_)
        each->abandon();
}

bool server_links::has(command_link const& which) const noexcept
{
    return std::ranges::any_of(links_, [&](auto const& each) { return each.get() == &which; });
}

std::size_t server_links::links_up() const noexcept
{
    auto const up = std::ranges::count_if(links_, [](auto const& each) { return each->is_up(); });
    return static_cast<std::size_t>(up) + (push_->is_up() ? 1 : 0);
}

bool server_links::is_content() const noexcept
{
    return std::ranges::all_of(links_, [](auto const& each) {
        return !each->is_started() || each->is_up();
    });
}

}  // namespace colock
