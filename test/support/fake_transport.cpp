// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "redis/call_batch.hpp"
#include "support/fake_transport.hpp"

#include <boost/asio/post.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <utility>

namespace colock::test {

std::string const& call::lease() const { return arguments.at(what == &scripts::extend ? 2 : 1); }

// ---- Expectation -------------------------------------------------------------------------------

void expectation::reply(decide::reply r) { give({answer::kind::replied, std::move(r), {}, {}}); }
void expectation::lose() { give({answer::kind::lost, {}, asio::error::eof, {}}); }
void expectation::not_now() { give({answer::kind::not_now, {}, error::unavailable, {}}); }
void expectation::fail(error_code ec) { give({answer::kind::failed, {}, ec, {}}); }

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
    : core_{inside}
    , listener_{who}
    , strand_{inside.strand()}
    , up_(inside.settings().links, false)
    , epochs_(inside.settings().links, 0)
{}

fake_transport::~fake_transport()
{
    abandon();
    *alive_ = false;
}

template <class F>
void fake_transport::later(F f)
{
    asio::post(
        strand_,
        [alive = alive_, life = core_.weak_from_this(), f = std::move(f)]() mutable {
            auto const lives = life.lock();
            if (lives && *alive)
                f();
        }
    );
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

void fake_transport::submit(step& s)
{
    waiting_.push_back(&s);
    if (!std::exchange(flushing_, true))
        later([this] { flush(); });
}

bool fake_transport::withdraw(step& s) noexcept { return std::erase(waiting_, &s) != 0; }

void fake_transport::flush()
{
    flushing_ = false;
    step_list now;
    for (auto* s : std::exchange(waiting_, {}))
        if (up_.at(link_of(s->slot)))
            now.push_back(*s);
        else
            waiting_.push_back(s);
    call_batch batch;
    batch.fill(now, {"0"});
    std::set<unsigned> links;
    for (auto* s : batch.steps) {
        write(*s);
        links.insert(link_of(s->slot));
    }
    for (auto const link : links)
        later([this, link] { deliver_ready(link); });
}

void fake_transport::write(step& s)
{
    call c{&s.what, s.slot, {}, {}, !s.floor.empty(), clock::now()};
    c.keys.assign(s.keys.begin(), s.keys.end());
    c.arguments.assign(s.arguments.begin(), s.arguments.end());
    written_.push_back(c);
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
        auto const alive = alive_;
        deliver(*at->what, std::move(*at->ready));
        if (!*alive)
            return;
    }
}

void fake_transport::deliver(step& s, answer a)
{
    auto const at = std::ranges::find(in_flight_, &s, &sent_step::what);
    if (at == in_flight_.end())
        return;
    a.sent = at->sent;
    // A test says once what holds for each lock of the call.
    if (s.whole && a.what == answer::kind::replied && a.value.what != reply::kind::list)
        a.value = reply::of(std::vector(s.keys.size(), a.value));
    in_flight_.erase(at);
    for (auto& e : expectations_)
        if (e.waiting_ == &s)
            e.waiting_ = nullptr;
    s.answered.set(std::move(a));
}

void fake_transport::abandon() noexcept
{
    while (!waiting_.empty()) {
        auto* const s = waiting_.back();
        waiting_.pop_back();
        s->answered.drop();
    }
    while (!in_flight_.empty()) {
        auto* const s = in_flight_.back().what;
        in_flight_.pop_back();
        s->answered.drop();
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
    want_push_if_wanted();
}

void fake_transport::stop()
{
    started_ = false;
    for (unsigned link = 0; link != up_.size(); ++link)
        later([this, link] { close(link, asio::error::operation_aborted); });
    later([this] { close_push(); });
    for (auto* s : std::exchange(waiting_, {}))
        s->answered.set({answer::kind::failed, {}, error::closed, {}});
}

void fake_transport::open(unsigned link)
{
    if (!started_ || up_.at(link))
        return;
    up_.at(link) = true;
    listener_.on_link_up(link, ++epochs_.at(link));
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
        deliver(*s, {answer::kind::lost, {}, why, {}});
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
}

unsigned fake_transport::link_of(unsigned slot) const noexcept
{
    return slot % static_cast<unsigned>(up_.size());
}

error_code fake_transport::down_reason(unsigned slot) const noexcept
{
    return up_[link_of(slot)] ? error_code{} : down_reason_to_tell;
}

std::size_t fake_transport::links_up() const noexcept
{
    return static_cast<std::size_t>(std::ranges::count(up_, true)) + (push_up_ ? 1 : 0);
}

// ---- Subscriptions -----------------------------------------------------------------------------

void fake_transport::want_push(unsigned)
{
    push_wanted_ = true;
    want_push_if_wanted();
}

void fake_transport::want_push_if_wanted()
{
    if (started_ && push_wanted_ && up_at_start_)
        later([this] { open_push(); });
}

void fake_transport::open_push()
{
    if (!started_ || std::exchange(push_up_, true))
        return;
    listener_.on_push_up(0);
}

void fake_transport::close_push()
{
    if (!std::exchange(push_up_, false))
        return;
    under_way_.reset();
    subscribed_.clear();
    listener_.on_push_down(0);
}

void fake_transport::push_down()
{
    later([this] { close_push(); });
}

void fake_transport::push_up()
{
    later([this] { open_push(); });
}

void fake_transport::change(unsigned, subscription_change const& what)
{
    BOOST_TEST(push_up_);
    BOOST_TEST(!under_way_.has_value());
    changes_.push_back(what);
    under_way_ = what;
    if (!hold_changes)
        later([this] { answer_change(); });
}

void fake_transport::confirm_change()
{
    later([this] { answer_change(); });
}

void fake_transport::answer_change()
{
    if (!under_way_)
        return;
    auto const asked = *std::exchange(under_way_, {});
    for (auto const& channel : asked.unsubscribe)
        subscribed_.erase(channel);
    for (auto const& channel : asked.subscribe)
        if (forbidden.contains(channel))
            listener_.on_refused(0, channel, "NOPERM");
        else {
            subscribed_.insert(channel);
            listener_.on_subscribed(0, channel);
        }
    listener_.on_changed(0);
}

void fake_transport::publish(std::string const& channel, std::string payload)
{
    later([this, channel, payload = std::move(payload)] {
        if (subscribed_.contains(channel))
            listener_.on_message(channel, payload);
    });
}

}  // namespace colock::test
