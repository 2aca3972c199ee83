// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "client/client_access.hpp"
#include "client/client_state.hpp"
#include "simulation/world/process.hpp"
#include "simulation/world/simulated_transport.hpp"
#include "simulation/world/world.hpp"

#include <algorithm>
#include <cstdio>

namespace colock::simulation {

namespace {

/// A UUID of this version; its end says whose it is.
std::string draw_uuid(dice& d, int number, char version)
{
    char text[37];
    std::snprintf(
        text,
        sizeof text,
        "%08x-%04x-%c%03x-8%03x-%08x%04x",
        static_cast<unsigned>(d.below(1ULL << 32U)),
        static_cast<unsigned>(d.below(1U << 16U)),
        version,
        static_cast<unsigned>(d.below(1U << 12U)),
        static_cast<unsigned>(d.below(1U << 12U)),
        static_cast<unsigned>(d.below(1ULL << 32U)),
        static_cast<unsigned>(number)
    );
    return text;
}

}  // namespace

process::process(world& around, int number, std::uint64_t life, int drift)
    : around_{around}
    , number_{number}
    , known_{around.truth(), number}
    , dice_{around.luck(10'000 + life)}
    , computer_{drift}
{
    auto d = around.luck(7'000 + static_cast<std::uint64_t>(number));
    auto const lease = static_cast<std::uint64_t>(around.plan().settings.lease.count());
    if (d.percent(around.plan().hold_limits))
        max_hold_ = milliseconds{lease / 2 + d.below(2 * lease)};
    if (d.percent(around.plan().loss_margins))
        loss_margin_ = milliseconds{d.below(lease / 2)};
    for (std::size_t i = 0; i != around.deployments(); ++i)
        clients_.push_back(make_client(i));
}

process::~process()
{
    for (auto const& u : users_)
        u->die();
}

process::known_client process::make_client(std::size_t deployment)
{
    auto const older = around_.hands_over() ? around_.plan().older_ids : 0;
    auto settings = around_.plan().settings;
    if (!around_.hands_over())
        settings.max_tenure = milliseconds{0};
    settings.max_hold = max_hold_;
    settings.loss_margin = loss_margin_;
    auto uuid = draw_uuid(dice_, number_, older != 0 && number_ % older == older - 1 ? '4' : '9');
    auto inside = detail::client_state::make(
        computer_.get_executor(),
        std::move(settings),
        [&](detail::core& c, transport_listener& who) {
            return std::make_unique<simulated_transport>(
                c,
                who,
                surroundings{
                    around_.time(),
                    around_.net(),
                    around_.nodes_of(deployment),
                    number_,
                    around_.plan().broken == mutant::tokens_fall}
            );
        },
        {uuid, dice_.next()}
    );
    auto made = std::unique_ptr<client>{new client(detail::client_access::make(std::move(inside)))};
    if (number_ % 2 == 0)  // the others connect and rest as they are used
        made->run([](error_code) {});
    return {std::move(made), std::move(uuid)};
}

std::string process::what_is_kept(std::size_t deployment)
{
    auto& inside = *detail::client_access::inside(at(deployment));
    std::string names;
    for (auto const& each : inside.keyed_states().all())
        names += ", " + std::to_string(static_cast<int>(each->kind())) + ":" + each->name();
    return names;
}

void process::add_user(int number, std::uint64_t first_section)
{
    users_.push_back(std::make_shared<user>(*this, number, first_section));
    users_.back()->go_on();
}

void process::replace_client(std::size_t deployment)
{
    clients_.at(deployment) = make_client(deployment);
}

void process::close_client(std::size_t deployment)
{
    auto& closing = clients_.at(deployment);
    std::shared_ptr<client> const old{closing.made.release()};
    closing = make_client(deployment);
    old->close([old](error_code) {});
}

}  // namespace colock::simulation
