#include "core/arguments.hpp"
#include "core/core.hpp"
#include "core/query.hpp"
#include "core/subscription_manager.hpp"
#include "decide/names.hpp"
#include "locks/lock_table.hpp"
#include "redis/any_command.hpp"
#include "redis/link_settings.hpp"
#include <colock/admin.hpp>

#include <list>
#include <utility>

namespace colock {

inline namespace v0_3 {
namespace detail {

namespace {

lock_kind kind_of(admin::release_as how) noexcept
{
    switch (how) {
    case admin::release_as::fair: return lock_kind::fair;
    case admin::release_as::reader: return lock_kind::read;
    case admin::release_as::writer: return lock_kind::write;
    case admin::release_as::lock: break;
    }
    return lock_kind::plain;
}

failure read_was_held(answer const& got, bool& was_held)
{
    using kind = decide::release_answer::kind;
    auto const said = decide::read_release(got.value).what;
    was_held = said == kind::released;
    return said == kind::malformed ? failure{error::bad_reply} : failure{};
}

}  // namespace

void send_raw_command(
    core_ptr inside,
    completion<decide::reply>::handler_type handler,
    std::string about,
    std::vector<std::string> words
)
{
    auto const wrong = words.empty() ? failure{error::invalid_argument} : failure{};
    auto read = [inside](answer const& got, decide::reply& into) {
        into = got.value;
        if (into.what == decide::reply::kind::error)
            into.text = redacted(into.text, inside->settings());
        return failure{};
    };
    query<decide::reply>::start(
        inside,
        std::move(handler),
        wrong,
        script_call::request{&any_command, {std::move(about)}, std::move(words)},
        std::move(read)
    );
}

void release_of(
    core_ptr inside,
    completion<bool>::handler_type handler,
    std::string name,
    admin::release_as as,
    std::string field
)
{
    auto const wrong = check_name(*inside, name);
    auto const& prefix = inside->settings().key_prefix;
    auto const key = inside->key_of(std::move(name));
    auto const& how = traits_of(kind_of(as));
    script_call::request about{
        how.script.release,
        how.queue_keys(key, prefix),
        {},
        true};  // a second one would find nothing, and say that it was not held
    if (how.tells_list())
        about.arguments.push_back(inside->mailbox_argument(decide::slot_of(key)));
    about.arguments.push_back(std::move(field));
    about.arguments.push_back(how.channel(key, prefix));
    if (how.tells_list())
        about.arguments.push_back(decide::wait_list(key, prefix));
    if (how.tells_list() && !how.has_leases)
        about.arguments.emplace_back();  // nobody joins the list
    about.keys.insert(about.keys.begin(), key);
    if (auto more = how.release_argument(key, prefix); !more.empty())
        about.arguments.push_back(std::move(more));
    query<bool>::start(
        std::move(inside), std::move(handler), wrong, std::move(about), &read_was_held
    );
}

}  // namespace detail

namespace admin {

// ---- Hearing -----------------------------------------------------------------------------------

/// The part that lives on the strand.
class channel_listener::inside : public std::enable_shared_from_this<inside> {
public:
    inside(detail::core_ptr c, handler_type h) : core_{std::move(c)}, heard_{std::move(h)} {}

    void begin(std::vector<std::string> const& channels)
    {
        for (auto const& name : channels) {
            auto& listener = listeners_.emplace_back(*this, name);
            core_->subscriptions().add(name, listener);
        }
    }

    void end()
    {
        for (auto& each : listeners_)
            core_->subscriptions().remove(each.channel, each);
        listeners_.clear();
    }

    /// Ends all calls of the listener. Called on the executor.
    void hush() { heard_ = nullptr; }

    detail::core_ptr const& core() const noexcept { return core_; }

private:
    struct one final : subscription_manager::listener {
        one(inside& whose, std::string name) : of{whose}, channel{std::move(name)} {}
        void on_subscribed() override { of.tell({}, {}); }
        void on_message(std::string_view text) override { of.tell(channel, std::string{text}); }

        inside& of;
        std::string channel;
    };

    void tell(std::string channel, std::string text)
    {
        asio::post(
            core_->executor(),
            [self = shared_from_this(), channel = std::move(channel), text = std::move(text)] {
                if (self->heard_)
                    self->heard_(channel, text);
            }
        );
    }

    detail::core_ptr core_;
    handler_type heard_;
    std::list<one> listeners_;
};

channel_listener::channel_listener(
    client const& c, std::vector<std::string> channels, handler_type heard
)
    : inside_{std::make_shared<inside>(detail::core_of(c), std::move(heard))}
{
    asio::dispatch(inside_->core()->strand(), [i = inside_, all = std::move(channels)] {
        i->begin(all);
    });
}

channel_listener::~channel_listener()
{
    inside_->hush();
    if (!inside_->core()->is_shut_down())
        asio::dispatch(inside_->core()->strand(), [i = inside_] { i->end(); });
}

}  // namespace admin
}  // namespace v0_3

}  // namespace colock
