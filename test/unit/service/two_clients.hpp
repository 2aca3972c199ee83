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
        , other{detail::client_access::make(test::make_core(
              context.get_executor(),
              with(short_leases()),
              [this](fake_transport& made) {
                  there = &made;
                  redis.attach(made);
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
