#pragma once

#include "base/recycling.hpp"
#include "core/core.hpp"
#include "core/subscription_manager.hpp"
#include "decide/alarm_queue.hpp"
#include "decide/linked_list.hpp"
#include "decide/open_request.hpp"
#include "holds/ownership.hpp"
#include "holds/ownership_listener.hpp"
#include "locks/exclusive_lock.hpp"
#include "redis/transport.hpp"
#include "waiting/contender.hpp"
#include "waiting/wait_queue.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace colock {

class writers;

/// The readers of a read-write lock in this client, and the waiting ones. Each reader has its own
/// field and asks for itself. But a reader that came after a waiting writer of this client waits
/// for that writer, and while somebody writes, only the first reader asks.
///
/// An owner that writes may also read, with the same number; see `writers`.
class readers final :
    public wait_queue,
    public ownership_listener,
    private subscription_manager::listener {
public:
    readers(core& inside, lock_traits const&, std::string name);
    ~readers() override;

    static std::shared_ptr<readers> find(core&, std::string_view name);

    /// Admits an acquire: it enters, asks, joins the queue, or gets its answer at once.
    void admit(std::shared_ptr<waiter> const&) override;

    /// A reader waits here that came before this waiter.
    bool has_one_before(waiter const& writer) const noexcept
    {
        return !is_empty() && first().arrival < writer.arrival;
    }

    /// Whether a reader has it, or is asking for it.
    bool has_readers() const noexcept { return !askers_.empty() || is_reading(); }

    /// A caller of this client reads.
    bool is_reading() const noexcept;

    /// Whether another client writes, as far as this client knows.
    bool is_closed() const noexcept { return closed_ && sleep_.is_set(); }

    /// The ownership with this number, or of this owner; nothing if there is none.
    ownership* with_number(std::uint64_t number) const noexcept override
    {
        auto const at = ownerships_.find(number);
        return at == ownerships_.end() ? nullptr : at->second.get();
    }
    std::shared_ptr<ownership> reading(owner const&) const noexcept;

    /// Looks a little later which readers may have their turn, when the current changes are done.
    void look_again()
    {
        if (!look_.is_set())
            core_.set_alarm(look_, clock::now());
    }

    ownership* held(owner const& who) const noexcept override { return reading(who).get(); }
    void taken_away(time_point sent) override;
    bool is_taken() const noexcept override;

    // ---- For an ownership ----------------------------------------------------------------------

    void ended(ownership&) override;
    bool changed() override
    {
        look_again();
        return true;
    }

    // ---- For the core --------------------------------------------------------------------------

    void on_reached() override { ask_again(); }
    void destroy_pending() noexcept override
    {
        wait_queue::destroy_pending();
        ownerships_.clear();
    }

private:
    /// Asks for one reader, until it is answered. It waits for nothing: `look` begins it when the
    /// reader may ask.
    class asker : public decide::list_hook<>, public contender {
    public:
        asker(readers&, std::shared_ptr<waiter>);
        ~asker() { who_->asking = nullptr; }
        asker(asker const&) = delete;
        asker& operator=(asker const&) = delete;

        static void begin(readers&, std::shared_ptr<waiter>);

        // ---- For `contend`

        struct attempt;
        bool is_wanted() const noexcept { return !is_answered_ && is_waiting(); }
        bool judge(attempt const&, answer const&);
        void end();

        /// Somebody else with the same owner asks.
        bool is_for_owner_of(waiter const& reader) const noexcept
        {
            return who_.get() != &reader && who_->shared_owner && who_->who == reader.who;
        }

        /// Takes it back if it is not sent yet.
        void withdraw() { sending_.withdraw(); }

    private:
        // True if it has to ask again.
        bool asks_again(attempt const&, answer const&);
        bool on_granted(decide::proven_grant const&);

        void on_refused(attempt const&, std::int64_t pttl);
        void fail(failure);
        void hand_out(decide::proven_grant const&);
        std::shared_ptr<ownership> make_ownership(owner const&);
        bool is_waiting() const noexcept { return who_->queue == &of_; }

        readers& of_;
        std::shared_ptr<waiter> who_;
        recycled_string field_;
        std::string lease_text_, prefix_;
        std::string_view keys_[1];
        std::string_view arguments_[3];
        bool is_answered_ = false;
    };

    void look();
    void stay_behind();
    bool may_enter(waiter const&) const noexcept;
    bool is_written_by(waiter const&) const noexcept;
    void enter(std::shared_ptr<waiter> const&) override;
    bool may_ask(waiter const&) const;
    bool may_wait_once(waiter const& who) const noexcept
    {
        return is_asking_for_owner_of(who) || is_written_by(who);
    }
    bool is_asking_for_owner_of(waiter const&) const noexcept;
    void on_left(waiter&, bool was_first) override;
    void on_queue_changed() override { look_again(); }
    void unregister_if_idle();

    void subscribe();
    void ask_again();
    void on_subscribed() override { ask_again(); }
    void on_message(std::string_view) override;

    writers* beside() const noexcept;

    /// The ownership of the writer, if it is this client's.
    ownership* written() const noexcept;

    lock_traits const& how_;
    decide::linked_list<asker> askers_;
    std::unordered_map<std::uint64_t, std::shared_ptr<ownership>>
        ownerships_;                    ///< by their numbers
    std::string channel_;               ///< subscribed, if not empty
    std::uint64_t news_ = 0;            ///< counts events that make earlier refusals out of date
    bool closed_ = false;               ///< another client wrote, by the last answer
    decide::alarm_queue::alarm sleep_;  ///< while it is set, that is believed, and no reader asks
    decide::alarm_queue::alarm look_;
};

/// The writer of a read-write lock in this client, and the waiting ones: one at a time, as for any
/// lock, but in turn with its readers. The waiters of both sides are served in the order of their
/// arrival.
class writers final : public exclusive_lock {
public:
    writers(core& inside, lock_traits const& how, std::string name)
        : exclusive_lock{inside, how, std::move(name)}
        , let_pass_{[this] { let_pass(); }}
    {}

    /// The state for this name in this client, if there is any.
    static writers* find(core&, std::string_view name) noexcept;

    /// Whether a writer waits here that came before this reader and goes first.
    bool has_one_before(waiter const& reader) const noexcept;

    /// Readers wait behind our head. If after a while readers of other clients keep it out, the
    /// readers that wait by then pass it.
    void let_pass_in_time();

    /// The readers have changed.
    void look_again() { go_on(); }

    void ended(ownership&) override;
    bool is_taken() const noexcept override;

private:
    std::shared_ptr<readers> beside() const;
    void let_pass();

    bool stands_behind(waiter const&) const override;
    bool may_go_on(ownership const&) const override;
    void on_queue_changed() override;

    decide::alarm_queue::alarm let_pass_;
    std::uint64_t passed_ = 0;  ///< readers that arrived up to that number pass
    bool has_asked_ = false;    ///< our head, since readers passed it
};

}  // namespace colock
