#pragma once

#include "core/subscription_manager.hpp"
#include "holds/ownership.hpp"
#include "holds/ownership_listener.hpp"
#include "holds/protocol.hpp"
#include "redis/transport.hpp"
#include "waiting/wait_queue.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace colock {

struct contention_state;

/// All that this client knows of a key that one owner holds at a time: its ownership, its waiters,
/// and the one attempt that is under way for the first of them.
class exclusive_lock :
    public wait_queue,
    public ownership_listener,
    protected subscription_manager::listener {
public:
    exclusive_lock(core& inside, protocol const&, std::string name);
    ~exclusive_lock() override;

    /// The state of this lock; nothing if there is none.
    static exclusive_lock* find(core&, lock_kind, std::string_view name) noexcept;

    protocol const& how() const noexcept { return how_; }
    ownership* held() const noexcept { return ownership_.get(); }
    ownership* held(owner const&) const noexcept override { return held(); }
    void taken_away(time_point sent) override;

    /// Admits an acquire: it re-enters, joins the queue, or gets its answer at once.
    void admit(std::shared_ptr<waiter> const&) override;

    bool hand_over(hold_state& last) override;

    std::uint32_t expect_echo(std::string const& channel) override;
    bool joins_list() override;
    void joined(bool stands) override;
    void published(unsigned others, bool told) override;
    void ended(ownership&) override;

    /// The event that it sleeps for may have come.
    void wake() { wake_.set(true); }
    void wake_if_asleep();

    /// The rest of the holder's lease, as PTTL reports it: -2 if nobody holds it.
    void expiring(std::int64_t pttl);

    bool is_in_use() const noexcept override { return !is_empty() || contending_ || ownership_; }
    void on_reached() override { wake_if_asleep(); }
    void end_waiters(error_code) override;

    /// Drops what is remembered of the turns between clients.
    void forget() override;
    void destroy_pending() noexcept override;

    bool is_sleeping() const noexcept;

    /// Admits waiters with the same owner, because no owner may wait for itself.
    void admit_same_owner(waiter const& holder);

protected:
    // Hooks for a lock with another queue beside this one; see `writers`.

    /// A waiter of another queue came before this one.
    virtual bool stands_behind(waiter const&) const { return false; }

    /// Whether the ownership may go to the next waiter unchanged.
    virtual bool may_go_on(ownership const&) const { return true; }

    waiter const* head() const noexcept { return is_empty() ? nullptr : &first(); }

    /// Lets the head go on, which may have waited for another queue.
    void go_on();

    /// Without a live subscription a sleeping head asks at once.
    bool ask_unless_told();

    void on_message(std::string_view) override;

private:
    friend struct contention_state;
    struct attempt;
    /// The consequence of an answer for the attempt.
    enum class verdict { again, sleep };

    strand_task contend();
    verdict judge(attempt const&, answer const&);
    verdict on_granted(attempt const&, std::uint64_t token, time_point sent);
    verdict on_unsynced(error_code why);
    verdict on_refused(attempt const&, decide::acquire_answer const&);
    contention_state& ensure_contention();
    bool stands_back() const noexcept;
    lock_ref ref() const noexcept { return {how_, name()}; }
    bool draws_tokens() const noexcept;
    std::string_view channel() const noexcept;
    std::string_view place_to_ask() const noexcept;
    std::string counter() const;
    std::uint64_t tokens_to_ask();
    void end_contention();
    void sleep_until(time_point);
    void sleep_out(std::int64_t pttl);
    void pause_between_tries(std::int64_t pttl);
    void sleep_to_cap();
    void get_up() noexcept;
    void give_back();
    void forget_tenure() noexcept;
    void forget_if_idle() noexcept;

    void give(std::uint64_t last_token, std::uint64_t tokens, time_point sent);
    hold_ptr make_hold(waiter const&, std::uint64_t only_token);
    void re_enter(std::shared_ptr<waiter> const&);
    void enter(std::shared_ptr<waiter> const&);
    void on_left(waiter&, bool was_first) override;
    void ask_for_next();
    std::uint64_t followers() const noexcept;

    bool may_use_list() const noexcept;
    bool joins_behind();
    void hear_turn();
    bool hears_anew(std::string_view asked, bool stands);
    void stop_listening();
    void on_turn_heard();
    void on_turn(unsigned listening);
    bool awaits_turn() noexcept;
    void leave_list();
    static strand_task send_leave(core&, std::string key, unsigned slot, std::string channel);

    void subscribe();
    void on_subscribed() override;
    void on_interrupted() override;
    void on_alarm();

    protocol const& how_;
    std::shared_ptr<ownership> ownership_;
    std::unique_ptr<contention_state> contention_;  ///< none without contention
    time_point since_{};                            ///< the tenure's first grant
    std::uint64_t number_ = 0;  ///< of the requested ownership, until it is given out
    time_point unclaimed_{};    ///< until then it may exist in Redis without a holder
    event<bool> wake_;
    step* sending_ = nullptr;
    std::uint32_t refusals_ = 0;  ///< for the moment, in a row
    bool synced_ = false;         ///< `number_` was requested over the link that waits for replicas
    bool contending_ = false;
    bool was_late_ = false;  ///< the last grant came too late
};

}  // namespace colock
