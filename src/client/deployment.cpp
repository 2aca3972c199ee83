// The connections that a client makes unless a test gives it others. In a separate file, so that a
// simulator can link the layers above without sockets.
#include "client/client_state.hpp"
#include "client/reporting.hpp"
#include "redis/cluster.hpp"
#include "redis/single_server.hpp"

#include <utility>

namespace colock {
inline namespace v0_3 {
namespace detail {

core_ptr client_state::make(asio::any_io_executor executor, config settings, identity drawn)
{
    if (!settings.label)
        settings.label = default_label();
    using made = std::unique_ptr<colock::transport>;
    return make(
        std::move(executor),
        std::move(settings),
        [](client_state& c, transport_listener& who) -> made {
            auto const& s = c.settings();
            link_context context{
                c.strand(),
                s,
                c.faults(),
                c.alarms_.alarms(),
                [&c] { c.alarms_.arm(); },
                [&c] { return c.jitter(); },
                c.weak_from_this(),
                [&c] { return c.is_context_gone_.load(); },
                s.tls.enabled ? std::make_shared<tls>(s.tls) : nullptr};
            if (s.topology == topology::cluster)
                return std::make_unique<cluster>(std::move(context), who);
            return std::make_unique<single_server>(std::move(context), who);
        },
        std::move(drawn)
    );
}

}  // namespace detail
}  // namespace v0_3
}  // namespace colock
