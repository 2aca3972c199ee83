// The connections that a client makes unless a test gives it others. In a separate file, so that a
// simulator can link the service layer without sockets.
#include "redis/cluster.hpp"
#include "redis/single_server.hpp"
#include "service/core.hpp"

#include <utility>

namespace colock::detail {

core_ptr core::make(asio::any_io_executor executor, config settings)
{
    using made = std::unique_ptr<colock::transport>;
    return make(
        std::move(executor),
        std::move(settings),
        [](core& c, transport_listener& who) -> made {
            link_context context{
                c.strand_,
                c.settings_,
                c.alarms_,
                [&c] { c.arm_timer(); },
                [&c] { return c.jitter(); },
                c.weak_from_this(),
                [&c] { return c.is_context_gone_.load(); },
                c.settings_.tls.enabled ? std::make_shared<tls>(c.settings_.tls) : nullptr};
            if (c.settings_.topology == topology::cluster)
                return std::make_unique<cluster>(std::move(context), who);
            return std::make_unique<single_server>(std::move(context), who);
        }
    );
}

}  // namespace colock::detail
