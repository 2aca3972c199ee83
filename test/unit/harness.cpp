// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "client/client_access.hpp"
#include "support/fake_transport.hpp"
#include "unit/harness.hpp"

namespace colock::test {

template class pending<>;
template class pending<hold>;
template class pending<std::optional<hold>>;
template class pending<bool>;
template class pending<permit>;

harness::harness(config settings, bool running)
    : client{detail::client_access::make(make_core(with(std::move(settings))))}
{
    if (running) {
        this->client.run(run.token());
        time.settle();
    }
}

config harness::with(config settings)
{
    settings.observer = events;
    if (!settings.log.sink)
        settings.log = {
            [this](log_level level, std::string_view line) {
                if (level >= log_level::warning)
                    log.emplace_back(line);
            },
            log_level::debug};
    return settings;
}

detail::core_ptr harness::make_core(config settings)
{
    return test::make_core(
        context.get_executor(),
        std::move(settings),
        [this](fake_transport& made) { server = &made; }
    );
}

pending_hold harness::acquire(lock const& of, acquire_options options)
{
    pending_hold p;
    of.acquire(options, p.token());
    time.settle();
    return p;
}

pending_try harness::try_acquire(acquire_options options)
{
    pending_try p;
    mutex().try_acquire(options, p.token());
    time.settle();
    return p;
}

pending_try harness::try_for(milliseconds wait, acquire_options options)
{
    pending_try p;
    mutex().try_acquire_for(wait, options, p.token());
    time.settle();
    return p;
}

pending<> harness::release(hold& h)
{
    pending<> p;
    h.release(p.token());
    time.settle();
    return p;
}

pending<> harness::extend(hold& h, milliseconds lease)
{
    pending<> p;
    h.extend(lease, p.token());
    time.settle();
    return p;
}

pending<> harness::lost(hold const& h)
{
    pending<> p;
    h.lost(p.token());
    time.settle();
    return p;
}

hold harness::held(acquire_options options, std::int64_t token)
{
    server->expect(scripts::acquire).reply(granted(token));
    auto p = acquire(options);
    BOOST_TEST_REQUIRE(p.succeeded());
    return std::move(p.value());
}

}  // namespace colock::test
