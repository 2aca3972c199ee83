// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "unit/service/group.hpp"

#include <memory>
#include <utility>

namespace colock::test {

/// The fixture's own client, and another one of the same server.
struct two_clients : served {
    explicit two_clients(config settings = short_leases())
        : served{std::move(settings)}
        , other{detail::client_access::make(detail::client_state::make(
              context.get_executor(),
              with(short_leases()),
              [this](detail::core& inside, transport_listener& who) {
                  auto made = std::make_unique<fake_transport>(inside, who);
                  there = made.get();
                  redis.attach(*there);
                  return made;
              }
          ))}
    {
        other.run(other_run.token());
        time.settle();
    }

    fake_transport* there = nullptr;
    pending<> other_run;
    colock::client other;
};

}  // namespace colock::test
