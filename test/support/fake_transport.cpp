// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "client/client_state.hpp"
#include "redis/call_batch.hpp"
#include "redis/link_settings.hpp"
#include "support/fake_transport.hpp"
#include "support/identity.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <utility>

namespace colock::test {

namespace {

/// Of a batch that is never answered.
struct nobody final : call_batch::listener {
    void on_step(step&, decide::reply&&, bool, time_point) override {}
    void on_step_lost(step&, time_point) override {}
    void on_batch_over(call_batch&) override {}
};

}  // namespace

detail::core_ptr make_core(
    asio::any_io_executor executor,
    config settings,
    std::function<void(fake_transport&)> const& made
)
{
    return detail::client_state::make(
        std::move(executor),
        std::move(settings),
        [&made](detail::core& inside, transport_listener& who) {
            auto transport = std::make_unique<fake_transport>(inside, who);
            made(*transport);
            return transport;
        },
        next_identity()
    );
}

std::string const& call::lease() const { return arguments.at(what == &scripts::extend ? 2 : 1); }

// ---- Expectation -------------------------------------------------------------------------------

void expectation::reply(decide::reply r) { give({answer::kind::replied, std::move(r), {}, {}}); }

void expectation::unsynced(decide::reply r, error_code why)
{
    give({answer::kind::replied, std::move(r), {}, {}, false, why});
}

void expectation::lose() { give({answer::kind::lost, {}, error::unavailable, {}}); }
void expectation::not_now() { give({answer::kind::not_now, {}, error::unavailable, {}}); }
void expectation::fail(failure why) { give({answer::kind::failed, {}, std::move(why), {}}); }

void expectation::out_of_memory()
{
    give({answer::kind::failed, {}, error::server_refused, {}, true});
}

void expectation::give(answer a)
{
    if (!came_) {
        answer_ = std::move(a);
        return;
    }
    if (!waiting_) {
        BOOST_ERROR("the step was answered, lost or dropped before");
        return;
    }
    transport_.later([this, a = std::move(a)]() mutable {
        if (waiting_)
            transport_.deliver(*waiting_, std::move(a));
    });
}

// ---- Steps -------------------------------------------------------------------------------------

fake_transport::fake_transport(core& inside, transport_listener& who)
    : in_process_transport{inside, who}
    , up_(inside.settings().links, false)
    , epochs_(inside.settings().links, 0)
    , lives_(inside.settings().links)
{
    for (std::uint32_t i = 0; i != lives_.size(); ++i)
        lives_[i].link = i + 1;
}

expectation& fake_transport::expect(scripts::script const& what)
{
    expectations_.push_back(expectation{*this, what});
    expected_.push_back(&expectations_.back());
    return expectations_.back();
}

std::size_t fake_transport::count(scripts::script const& what) const noexcept
{
    return static_cast<std::size_t>(std::ranges::count_if(written_, [&](call const& c) {
        return c.what == &what;
    }));
}

void fake_transport::write_waiting()
{
    step_list now;
    for (auto* s : std::exchange(waiting_, {}))
        if (up_.at(link_of(s->slot)))
            now.push_back(*s);
        else if (is_refusal(down_reason_to_tell))
            s->answered.set({answer::kind::failed, {}, down_reason_to_tell, {}});
        else
            waiting_.push_back(s);
    // The order in which a link would write them.
    nobody answers;
    resp::writer out;
    call_batch batch{answers};
    batch.fill(now, {}, out, clock::now());
    std::set<unsigned> links;
    for (auto* s : batch.steps()) {
        write(*s);
        links.insert(link_of(s->slot));
    }
    for (auto const link : links)
        later([this, link] { deliver_ready(link); });
}

void fake_transport::write(step& s)
{
    call c{
        &s.what,
        s.slot,
        {},
        {},
        std::string{s.tokens},
        clock::now(),
        s.whole,
        s.wants.replicas(0),
        s.copies_limit,
        s.wants,
        s.repeats,
        s.owed != nullptr};
    c.keys.assign(s.keys.begin(), s.keys.end());
    c.arguments.assign(s.arguments.begin(), s.arguments.end());
    written_.push_back(c);
    s.on = lives_.at(link_of(s.slot)).write();
    in_flight_.push_back({&s, written_.size() - 1, link_of(s.slot), c.sent, answer_to(s, c)});
}

std::optional<answer> fake_transport::answer_to(step& s, call const& c)
{
    if (!expected_.empty()) {
        auto& next = *expected_.front();
        expected_.pop_front();
        BOOST_TEST(c.what->name == next.what_.name);
        next.came_ = c;
        if (!next.answer_)
            next.waiting_ = &s;
        return next.answer_;
    }
    if (serve)
        return serve(c);
    BOOST_ERROR("not expected: " << c.what->name << " of " << c.key());
    return answer{answer::kind::failed, {}, error::server_refused, {}};
}

void fake_transport::answer_call(std::size_t n, answer a)
{
    later([this, n, a = std::move(a)]() mutable {
        auto const at = std::ranges::find(in_flight_, n, &sent_step::number);
        if (at != in_flight_.end())
            deliver(*at->what, std::move(a));
    });
}

void fake_transport::sent_alone(expectation& which)
{
    step& s = *std::exchange(which.waiting_, nullptr);
    std::erase_if(in_flight_, [&s](sent_step const& i) { return i.what == &s; });
    s.alone = true;
    waiting_.push_back(&s);
}

void fake_transport::deliver_ready(unsigned link)
{
    while (true) {
        auto const at = std::ranges::find_if(in_flight_, [link](sent_step const& s) {
            return s.link == link && s.ready;
        });
        if (at == in_flight_.end())
            return;
        auto const lives = alive();
        deliver(*at->what, std::move(*at->ready));
        if (!*lives)
            return;
    }
}

void fake_transport::deliver(step& s, answer a)
{
    auto const at = std::ranges::find(in_flight_, &s, &sent_step::what);
    if (at == in_flight_.end())
        return;
    a.sent = at->sent;
    auto const link = at->link;
    if (a.what == answer::kind::replied && !a.unsynced)
        a.has |= s.wants;
    // A test says once what holds for each lock of the call.
    if (s.whole && a.what == answer::kind::replied && a.value.what != reply::kind::list)
        a.value = reply::of(std::vector(s.keys.size(), a.value));
    in_flight_.erase(at);
    for (auto& e : expectations_)
        if (e.waiting_ == &s)
            e.waiting_ = nullptr;
    if (auto owed = std::exchange(s.owed, nullptr); owed && a.what == answer::kind::replied) {
        owed_.emplace_back(link, std::move(owed));
        if (!keeps_copies_back)
            later([this] { cover(); });
    }
    s.answered.set(std::move(a));
}

void fake_transport::cover()
{
    for (auto const& [link, owed] : std::exchange(owed_, {}))
        owed->on_covered();
}

void fake_transport::destroy_pending() noexcept
{
    owed_.clear();
    drop_waiting();
    while (!in_flight_.empty()) {
        auto* const s = in_flight_.back().what;
        in_flight_.pop_back();
        s->answered.destroy_waiting();
    }
    for (auto& e : expectations_)
        e.waiting_ = nullptr;
}

// ---- Links -------------------------------------------------------------------------------------

void fake_transport::start()
{
    started_ = true;
    if (up_at_start_)
        for (unsigned link = 0; link != up_.size(); ++link)
            later([this, link] { open(link); });
    open_pubsub_if_wanted();
}

void fake_transport::stop()
{
    started_ = false;
    for (unsigned link = 0; link != up_.size(); ++link)
        later([this, link] { close(link, asio::error::operation_aborted); });
    later([this] { close_pubsub(error::closed); });
    refuse_waiting();
}

void fake_transport::open(unsigned link)
{
    if (!started_ || up_.at(link))
        return;
    up_.at(link) = true;
    auto const epoch = ++epochs_.at(link);
    lives_.at(link).begin(static_cast<std::uint32_t>(epoch), ends_old_connections);
    listener_.on_link_up(link, epoch);
    if (epochs_.at(link) > 1)
        listener_.on_reached([this, link](unsigned slot) { return link_of(slot) == link; });
    flush();
}

void fake_transport::close(unsigned link, error_code why)
{
    if (!up_.at(link))
        return;
    up_.at(link) = false;
    std::vector<step*> lost;
    for (auto const& s : in_flight_)
        if (s.link == link)
            lost.push_back(s.what);
    for (auto* s : lost)
        deliver(*s, {answer::kind::lost, {}, error::unavailable, {}});
    for (auto const& [of, owed] : std::exchange(owed_, {}))
        if (of == link)
            owed->on_copies_lost();
        else
            owed_.emplace_back(of, owed);
    listener_.on_link_down(link, why);
}

void fake_transport::link_down(unsigned link, error_code why)
{
    later([this, link, why] { close(link, why); });
}

void fake_transport::link_up(unsigned link)
{
    later([this, link] { open(link); });
}

void fake_transport::all_down()
{
    for (unsigned link = 0; link != up_.size(); ++link)
        link_down(link);
}

void fake_transport::all_up()
{
    for (unsigned link = 0; link != up_.size(); ++link)
        link_up(link);
    later([this] { flush(); });
}

unsigned fake_transport::link_of(unsigned slot) const noexcept
{
    return slot % static_cast<unsigned>(up_.size());
}

failure fake_transport::down_reason(unsigned slot) const noexcept
{
    return up_[link_of(slot)] ? error_code{} : down_reason_to_tell;
}

std::size_t fake_transport::links_up() const noexcept
{
    return static_cast<std::size_t>(std::ranges::count(up_, true)) + (is_pubsub_up() ? 1 : 0);
}

// ---- Subscriptions -----------------------------------------------------------------------------

void fake_transport::want_pubsub(unsigned)
{
    pubsub_wanted_ = true;
    open_pubsub_if_wanted();
}

void fake_transport::open_pubsub_if_wanted()
{
    if (started_ && pubsub_wanted_ && up_at_start_)
        later([this] { open_pubsub_if_started(); });
}

void fake_transport::open_pubsub_if_started()
{
    if (started_)
        open_pubsub();
}

void fake_transport::pubsub_down()
{
    later([this] { close_pubsub(asio::error::eof); });
}

void fake_transport::pubsub_up()
{
    later([this] { open_pubsub_if_started(); });
}

void fake_transport::change_subscriptions(unsigned, subscription_change const& what)
{
    BOOST_TEST(is_pubsub_up());
    BOOST_TEST(!is_changing());
    changes_.push_back(what);
    begin_change(what);
    if (!hold_changes)
        later([this] { answer_change(); });
}

void fake_transport::confirm_change()
{
    later([this] { answer_change(); });
}

void fake_transport::publish(std::string const& channel, std::string payload)
{
    send_message(channel, std::move(payload));
}

}  // namespace colock::test
