#include "core/core.hpp"
#include "core/keyed_state.hpp"
#include "core/mailbox.hpp"
#include "decide/letter.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace colock {

namespace {

/// How long a mailbox stays open without use.
constexpr std::chrono::minutes unused{1};

}  // namespace

mailbox::mailbox(core& owner)
    : core_{owner}
    , look_{[this] { look(); }}
    , news_{[this] { core_.keyed_states().on_mailbox(); }}
{}

unsigned mailbox::key_of(unsigned slot) const noexcept
{
    return core_.settings().topology == topology::cluster ? slot : 0;
}

void mailbox::open(unsigned slot)
{
    if (!core_.has_links())
        return;  // the alarm would keep the context busy
    auto const [at, is_new] = open_.try_emplace(key_of(slot), *this);
    at->second.used = clock::now();
    if (is_new) {
        ++core_.count.mailboxes;
        at->second.channel = core_.mailbox_prefix(slot) + core_.uuid();
        if (core_.subscriptions().add(at->second.channel, at->second))
            at->second.change(true, false);
    }
    if (!look_.is_set())
        core_.set_alarm(look_, clock::now() + unused);
}

void mailbox::start()
{
    if (is_open())
        core_.set_alarm(look_, clock::now() + unused);
}

// It may be opened in the middle of any step, and those who hear of it may begin others.
void mailbox::box::change(bool is_live, bool is_refused)
{
    now = {is_live, is_refused, ++of.changes_};
    if (of.core_.has_links())
        of.core_.set_alarm(of.news_, clock::now());
}

auto mailbox::close(boxes::iterator which) -> boxes::iterator
{
    auto const next = std::next(which);
    auto closed = open_.extract(which);
    --core_.count.mailboxes;
    core_.subscriptions().remove(closed.mapped().channel, closed.mapped(), false);
    return next;
}

void mailbox::close()
{
    stop();
    for (auto at = open_.begin(); at != open_.end();)
        at = close(at);
}

// Mostly the last renewal or refusal is not so long ago, and nothing has to be looked through.
void mailbox::look()
{
    auto const now = clock::now();
    auto const is_unused = [now](auto const& each) { return now - each.second.used >= unused; };
    if (std::ranges::any_of(open_, is_unused))
        core_.keyed_states().for_each_in_use([&](unsigned slot) {
            if (auto const at = open_.find(key_of(slot)); at != open_.end())
                at->second.used = now;
        });
    for (auto at = open_.begin(); at != open_.end();)
        at = is_unused(*at) ? close(at) : std::next(at);
    if (!open_.empty())
        core_.set_alarm(look_, now + unused);
}

void mailbox::read(std::string_view payload)
{
    auto const got = decide::letter::read(payload);
    if (!got)
        return;
    if (got->what == decide::letter::kind::turn)
        core_.keyed_states().on_turn(got->name, got->number, got->listening);
    else if (!core_.keyed_states().forced(got->name, got->number))
        last_unknown_ = got->number;
}

}  // namespace colock
