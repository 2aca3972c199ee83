// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "client/client_access.hpp"
#include "core/mailbox.hpp"
#include "support/fake_transport.hpp"
#include "unit/harness.hpp"

namespace colock::test {

template class pending<>;
template class pending<hold>;
template class pending<if_acquired<hold>>;
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

void harness::open_mailbox()
{
    inside().mailbox().open(0);
    time.settle();
}

std::string harness::letter_about(std::string const& field, std::string const& key)
{
    auto const number = field.substr(field.find(':') + 1);
    return "forced " + number.substr(0, number.find(':')) + ' ' + key;
}

pending_hold harness::acquire(lock const& of, acquire_options options)
{
    return of.acquire(options, settled());
}

pending_try harness::try_acquire(acquire_options options)
{
    return mutex().try_acquire(options, settled());
}

pending_try harness::try_for(milliseconds wait, acquire_options options)
{
    return mutex().try_acquire_for(wait, options, settled());
}

pending<> harness::release(basic_hold& h) { return h.release(settled()); }

pending<> harness::extend(basic_hold& h, milliseconds lease) { return h.extend(lease, settled()); }

pending<> harness::lost(basic_hold const& h) { return h.lost(settled()); }

hold harness::held(acquire_options options, std::int64_t token)
{
    server->expect(scripts::acquire).reply(granted(token));
    auto p = acquire(options);
    BOOST_TEST_REQUIRE(p.succeeded());
    return std::move(p.value());
}

void harness::respond(expectation& to, reply with)
{
    to.reply(std::move(with));
    time.settle();
}

void harness::lose(expectation& what)
{
    what.lose();
    time.settle();
}

void harness::cut()
{
    server->link_down(link());
    time.settle();
}

void harness::mend()
{
    server->link_up(link());
    time.settle();
}

void harness::cut_all()
{
    server->all_down();
    time.settle();
}

void harness::mend_all()
{
    server->all_up();
    time.settle();
}

void harness::pubsub_down()
{
    server->pubsub_down();
    time.settle();
}

void harness::pubsub_up()
{
    server->pubsub_up();
    time.settle();
}

void harness::publish(std::string const& to, std::string payload)
{
    server->publish(to, std::move(payload));
    time.settle();
}

void harness::stop()
{
    client.stop();
    time.settle();
}

}  // namespace colock::test
