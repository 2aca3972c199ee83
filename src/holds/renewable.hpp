#pragma once

#include "decide/renewal_schedule.hpp"
#include "redis/transport.hpp"

#include <boost/intrusive/list.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace colock {

/// The texts of one renewal call, for as long as it is under way.
class renewal_texts {
public:
    void add_key(std::string_view key) { keys_.push_back(key); }

    /// `write` appends the argument to the string that it gets.
    template <class Write>
    void add_argument(Write const& write)
    {
        auto const begin = text_.size();
        write(text_);
        ends_.emplace_back(begin, text_.size());
    }

    std::vector<std::string_view> const& keys() const noexcept { return keys_; }

    /// When all are there.
    std::vector<std::string_view> arguments() const
    {
        std::vector<std::string_view> views;
        views.reserve(ends_.size());
        for (auto const& [begin, end] : ends_)
            views.push_back(std::string_view{text_}.substr(begin, end - begin));
        return views;
    }

private:
    std::string text_;
    std::vector<std::pair<std::size_t, std::size_t>> ends_;
    std::vector<std::string_view> keys_;
};

/// The place among those of a lane whose renewal is not sent yet.
struct in_renewal_queue;
using renewal_hook = boost::intrusive::list_base_hook<
    boost::intrusive::tag<in_renewal_queue>,
    boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

/// The place among all of a client.
struct in_hold_registry;
using registry_hook = boost::intrusive::list_base_hook<
    boost::intrusive::tag<in_hold_registry>,
    boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

/// Something that is held under a lease, as the watchdog and the registry of holds see it.
class renewable :
    public decide::renewal_schedule::entry,
    public renewal_hook,
    public registry_hook {
public:
    virtual std::shared_ptr<renewable> share() = 0;
    virtual unsigned slot() const noexcept = 0;

    /// The registry knows it: it has not ended.
    bool is_listed() const noexcept { return registry_hook::is_linked(); }

    // ---- For the registry ----------------------------------------------------------------------

    /// The server may not know it any more.
    virtual void renew_now() = 0;

    /// Releases all holds that their owners still have, because the client closes.
    virtual void release_all() = 0;

    /// Destroys handlers and tasks without calling them, because the context is destroyed.
    virtual void destroy_pending() noexcept = 0;

    // ---- For the watchdog ----------------------------------------------------------------------

    /// The script by which it is renewed, together with others. It replies with one item for each.
    virtual scripts::script const& renewal_script() const noexcept = 0;

    /// A renewal that is sent now: the lease to set.
    struct renewal {
        std::uint64_t round;
        milliseconds lease;
    };
    virtual renewal begin_renewal() noexcept = 0;
    virtual void write_renewal(renewal_texts&, renewal const&) const = 0;

    /// `reply`: its part of the answer, if there is one. `jitter` in [0, 1) is that of the whole
    /// call, so that holds that were renewed together are renewed together again.
    virtual void renewal_answered(
        renewal const&, answer const&, decide::reply const* reply, double jitter
    ) = 0;

    /// The call was refused as a whole. True if this one still needs its renewal.
    virtual bool renewal_refused(renewal const&) noexcept = 0;

    /// Queues it for renewal, if there is something to renew.
    virtual void renew() = 0;

    /// The time of loss has come for some hold.
    virtual void expire(time_point now) = 0;

protected:
    ~renewable() = default;
};

}  // namespace colock
