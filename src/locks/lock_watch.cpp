#include "base/completion.hpp"
#include "base/recycling.hpp"
#include "core/arguments.hpp"
#include "core/core.hpp"
#include "core/keyed_state.hpp"
#include "core/query.hpp"
#include "core/subscription_manager.hpp"
#include "decide/heard_events.hpp"
#include "decide/names.hpp"
#include "locks/lock_table.hpp"
#include <colock/lock_watch.hpp>

#include <boost/asio/system_executor.hpp>

#include <algorithm>
#include <exception>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace colock {
inline namespace v0_3 {
namespace detail {

namespace {

/// A caller that waits for an event.
struct event_wait final : operation {
    event_wait(core_ptr c, watch_ptr w) : inside{std::move(c)}, of{std::move(w)} {}
    void cancel() override;

    core_ptr inside;
    watch_ptr of;
    completion<lock_event> done;
};

/// As the caller's clock shows it.
lock_event by_steady_clock(lock_event event) noexcept
{
    event.heard -= clock::suspended();
    return event;
}

}  // namespace

/// The events of one lock that nobody has asked for yet, and the callers that wait for more.
class watch_state final : public keyed_state, public std::enable_shared_from_this<watch_state> {
public:
    /// As the caller gave it.
    std::string const& name() const noexcept { return name_; }

    watch_state(core& inside, lock_id const& of, std::size_t limit)
        : keyed_state{inside, state_kind::watch}
        , name_{of.name}
        , wrong_{limit != 0 ? check_name(inside, of.name) : failure{error::invalid_argument}}
        , heard_{limit}
    {
        auto const& settings = inside.settings();
        auto const key = inside.key_of(of.name);
        if (settings.topology != topology::cluster)
            ears_.emplace_back(
                *this,
                "__keyspace@" + std::to_string(settings.database) + "__:" + key,
                [this](std::string_view event) { heard_.on_key(event, clock::now()); }
            );
        auto const channel = traits_of(of.kind).channel(key, settings.key_prefix);
        ears_.emplace_back(*this, channel, [this](std::string_view) {
            heard_.on_release(clock::now());
        });
        ears_.emplace_back(*this, decide::request_channel(channel), [this](std::string_view) {
            heard_.on_request(clock::now());
        });
    }

    void begin()
    {
        if (ended_)
            return;
        if (auto const ec = wrong_ ? wrong_ : core_.enter()) {
            end(ec);
            return;
        }
        core_.keyed_states().add(shared_from_this());
        is_known_ = true;
        for (auto& each : ears_)
            each.is_live = core_.subscriptions().add(each.channel, each);
        if (!was_live_)
            tell_if_live();
    }

    void end(failure why)
    {
        if (ended_)
            return;
        ended_ = why;
        auto const life = shared_from_this();
        for (auto const& who : std::exchange(waiting_, {}))
            who->done(why, {});
        if (!std::exchange(is_known_, false))
            return;
        for (auto& each : ears_)
            core_.subscriptions().remove(each.channel, each, false);
        unregister();
    }

    void admit(std::shared_ptr<event_wait> const& who)
    {
        if (auto const event = heard_.take())
            who->done({}, by_steady_clock(*event));
        else if (ended_)
            who->done(ended_, {});
        else
            waiting_.push_back(who);
    }

    void leave(event_wait& who)
    {
        auto const at =
            std::ranges::find(waiting_, &who, [](auto const& each) { return each.get(); });
        if (at == waiting_.end())
            return;
        auto const life = *at;
        waiting_.erase(at);
        who.done(asio::error::operation_aborted, {});
    }

    // ---- For the core --------------------------------------------------------------------------

    void end_waiters(failure why) override { end(why); }
    void destroy_pending() noexcept override { waiting_.clear(); }

private:
    /// Listens to one channel.
    struct ear final : subscription_manager::listener {
        ear(watch_state& w, std::string c, std::function<void(std::string_view)> h)
            : of{w}
            , channel{std::move(c)}
            , hear{std::move(h)}
        {}

        void on_subscribed() override
        {
            is_live = true;
            is_refused = false;
            of.tell_if_live();
        }
        // Before the watch is live, some channels may bring events already, and others not yet.
        void on_message(std::string_view payload) override
        {
            if (!of.was_live_)
                return;
            hear(payload);
            of.hand_out();
        }
        // A channel that was refused is not asked for at once over the next connection either.
        void on_interrupted() override { is_live = false; }
        void on_not_subscribed() override
        {
            if (!std::exchange(is_refused, true))  // it is asked for again from time to time
                of.tell_if_live();
        }

        watch_state& of;
        std::string channel;
        std::function<void(std::string_view)> hear;
        bool is_live = false;
        bool is_refused = false;
    };

    void tell_if_live()
    {
        bool const is_over =
            std::ranges::all_of(ears_, [](ear const& e) { return e.is_live || e.is_refused; });
        if (is_over && std::ranges::any_of(ears_, &ear::is_live)) {
            was_live_ = true;
            heard_.on_live(clock::now());
            hand_out();
        }
    }

    void hand_out()
    {
        while (!waiting_.empty()) {
            auto const event = heard_.take();
            if (!event)
                return;
            auto const who = std::move(waiting_.front());
            waiting_.erase(waiting_.begin());
            who->done({}, by_steady_clock(*event));
        }
    }

    std::string const name_;
    failure wrong_;
    failure ended_;
    decide::heard_events heard_;
    std::vector<ear> ears_;
    std::vector<std::shared_ptr<event_wait>> waiting_;
    bool is_known_ = false;  ///< by the core
    bool was_live_ = false;
};

namespace {

void event_wait::cancel() { of->leave(*this); }

}  // namespace

watch_ptr begin_watch(core_ptr inside, lock_id const& of, std::size_t limit)
{
    auto made = std::make_shared<watch_state>(*inside, of, limit);
    asio::dispatch(inside->strand(), [inside, made] { made->begin(); });
    return made;
}

short_name name_of_watched(watch_ptr const& watch) noexcept
{
    return watch ? short_name{watch->name()} : short_name{};
}

void end_watch(core_ptr const& inside, watch_ptr const& watch) noexcept
{
    if (!watch || inside->is_shut_down())
        return;
    try {
        asio::dispatch(inside->strand(), [inside, watch] {
            watch->end(asio::error::operation_aborted);
        });
    } catch (std::exception const&) {  // no memory: it goes on until the client is closed
    }
}

void ask_to_release(core_ptr inside, handler<answered_bool> handler, lock_id const& id)
{
    auto const wrong = check_name(*inside, id.name);
    auto key = inside->key_of(id.name);
    auto const& prefix = inside->settings().key_prefix;
    auto to = decide::request_channel(traits_of(id.kind).channel(key, prefix));
    query<bool>::start(
        std::move(inside),
        std::move(handler),
        wrong,
        {&scripts::request, {std::move(key)}, {std::move(to)}},
        [](answer const& from, bool& heard) {
            std::int64_t listening = 0;
            auto const ec = read_number(from, listening);
            heard = listening > 0;
            return ec || listening >= 0 ? ec : failure{error::server_refused};
        }
    );
}

void next_event(core_ptr inside, handler<heard_event> handler, watch_ptr watch)
{
    if (!watch)
        return completion<lock_event>{
            std::move(handler), asio::system_executor{}}(error::invalid_argument, {});
    auto const who = make_recycled<event_wait>(inside, watch);
    who->listen(inside->strand(), handler);
    who->done = {std::move(handler), inside->executor()};
    asio::dispatch(inside->strand(), [who] { who->of->admit(who); });
}

}  // namespace detail
}  // namespace v0_3
}  // namespace colock
