#include "redis/single_server.hpp"

#include <algorithm>
#include <utility>

namespace colock {

single_server::single_server(link_context context, transport_listener& who)
    : context_{std::move(context)}
    , listener_{who}
{
    for (unsigned i = 0; i != std::clamp(context_.settings.links, 1U, 64U); ++i)
        links_.push_back(
            std::make_unique<command_link>(context_, static_cast<command_link::listener&>(*this), i)
        );
    push_ = std::make_unique<push_link>(context_, who);
}

void single_server::start()
{
    started_ = true;
    for (auto& link : links_)
        if (link->index() == 0 || link->has_waiting())
            link->start();
    if (push_wanted_)
        push_->start();
}

void single_server::stop()
{
    started_ = false;
    for (auto& link : links_)
        link->stop();
    push_->stop();
}

void single_server::submit(step& s)
{
    command_link& to = link(s.slot);
    if (started_ && !to.is_started())
        to.start();
    to.submit(s);
}

bool single_server::withdraw(step& s) noexcept { return link(s.slot).withdraw(s); }

unsigned single_server::link_of(unsigned slot) const noexcept
{
    return slot % static_cast<unsigned>(links_.size());
}

bool single_server::is_up(unsigned link) const noexcept { return links_[link]->is_up(); }

void single_server::want_link(unsigned link)
{
    if (started_ && !links_[link]->is_started())
        links_[link]->start();
}

error_code single_server::down_reason(unsigned slot) const noexcept
{
    return link(slot).down_reason();
}

void single_server::change(subscription_change const& what) { push_->change(what); }

void single_server::want_push()
{
    push_wanted_ = true;
    if (started_)
        push_->start();
}

std::size_t single_server::links_up() const noexcept
{
    auto const up = std::ranges::count_if(links_, [](auto const& l) { return l->is_up(); });
    return static_cast<std::size_t>(up) + (push_->is_up() ? 1 : 0);
}

void single_server::abandon() noexcept
{
    for (auto& link : links_)
        link->abandon();
}

void single_server::on_command_link_up(command_link& link)
{
    listener_.on_link_up(link.index(), link.epoch());
}

void single_server::on_command_link_down(command_link& link, error_code why)
{
    listener_.on_link_down(link.index(), why);
}

}  // namespace colock
