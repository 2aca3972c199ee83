// How a lock asks the server for the head of its queue.
#include "base/recycling.hpp"
#include "core/core.hpp"
#include "core/mailbox.hpp"
#include "decide/backoff.hpp"
#include "decide/names.hpp"
#include "decide/outcome.hpp"
#include "decide/wait_plan.hpp"
#include "locks/contention.hpp"
#include "locks/exclusive_lock.hpp"

#include <functional>
#include <iterator>
#include <span>
#include <utility>

namespace colock {

/// One acquire script, with the texts that it refers to.
struct exclusive_lock::asker::attempt {
    explicit attempt(asker& by) : attempt{by.of_, by} {}
    attempt(exclusive_lock& of, asker& by)
        : calls{of.core_.last_arrival()}
        , lease{of.first().lease}
        , tokens{by.tokens_to_ask()}
        , field{of.core_.field<recycled_string>(by.ensure_number(), of.how_.field_end)}
        , lease_text{std::to_string(lease.count())}
        , tokens_text{std::to_string(tokens)}
        , counter{by.counter()}
        , asked_at{of.core_.mailbox().of(of.slot())}
        , since{by.since(asked_at)}
        , list{by.request_.is_listed() || !since.empty() ? by.list() : std::string{}}
        , box{list.empty() ? std::string{} : of.core_.mailbox_argument(of.slot())}
        , keys{of.name(), counter}
        , arguments{field, lease_text, tokens_text, list, box, since}
        , call{
              *of.how_.script.acquire,
              of.slot(),
              std::span{keys}.first(of.draws_tokens() ? 2 : 1),
              arguments}
    {
        if (of.draws_tokens())
            call.tokens = of.how_.has_redisson_tokens ? redisson_tokens : clock_tokens;
        of.first().ask_copies(call);
        call.repeats = by.request_.is_open();
        by.request_.want(call.wants);
        by.begin();
    }
    attempt(attempt const&) = delete;
    attempt& operator=(attempt const&) = delete;

    std::uint64_t calls;  ///< the last one that it is for
    milliseconds lease;
    std::uint64_t tokens;
    recycled_string field;
    std::string lease_text, tokens_text, counter;
    mailbox::state asked_at;
    std::string since, list, box;
    std::string_view keys[2];
    std::string_view arguments[6];
    step call;
    reliable::terms terms{};
};

void exclusive_lock::asker::start() { contend<asker&>(std::ref(*this)); }

void exclusive_lock::asker::get_up() noexcept
{
    if (of_.contention_)
        of_.contention_->get_up();
}

void exclusive_lock::asker::end()
{
    give_back_if_open();
    if (!of_.ownership_)
        of_.forget_tenure();
    request_.close();
    contending_ = false;
    of_.asking_ended();  // which may destroy this, and the lock
}

void exclusive_lock::asker::begin()
{
    ++of_.first().attempts;
    if (of_.contention_)
        of_.contention_->begin_attempt();
}

// Once the client can be told, its first attempt takes a place already. A single try takes none,
// nor does a client that can never be told, which would always find the turn of another one.
std::string exclusive_lock::asker::since(mailbox::state const& now)
{
    auto const* const others = of_.contention_.get();
    if (!of_.how_.has_list || of_.first().once || now.is_refused || !(now.is_live || others))
        return {};
    if (!now.is_live)
        return std::string{wait_place::none};
    request_.lists();
    return std::to_string(others ? others->place.since() : 0);
}

std::string exclusive_lock::asker::list() const
{
    return decide::wait_list(of_.name(), of_.core_.settings().key_prefix);
}

// The request of the next waiter, which a release is about to put into the list. If that release is
// sent again, it names the same one. A request that stands there already has nothing to join.
std::uint64_t exclusive_lock::asker::number_that_joins()
{
    if (!of_.contention_ || (request_.is_listed() && !of_.contention_->place.is_joining()))
        return 0;
    auto const number = ensure_number();
    request_.lists();
    of_.contention_->place.begin_joining();
    return number;
}

bool exclusive_lock::asker::has_to_wait()
{
    auto const& head = of_.first();
    if (of_.ownership_) {
        of_.ensure_contention();  // it has the tokens of those who follow
        return true;
    }
    if (of_.stands_behind(head)) {
        give_back_if_open();  // those before it need the lock
        return true;
    }
    if (!of_.contention_)
        return false;
    auto& others = *of_.contention_;
    if (others.place.awaits_turn() && !head.once) {
        wake_.reset();
        others.sleep_to_cap(head.deadline());
        return true;
    }
    // A single try, or a waiter without time left, does not stand back for others.
    auto const until = others.back_until();
    bool const stands_back = !head.once && clock::now() < until && until < head.deadline();
    if (stands_back)
        others.sleep_until(until, head.deadline());
    return stands_back;
}

// From which the lock's tokens are drawn, if they are.
std::string exclusive_lock::asker::counter() const
{
    if (!of_.draws_tokens())
        return {};
    return of_.how_.has_redisson_tokens
        ? decide::token_counter(of_.name(), of_.core_.settings().key_prefix)
        : of_.core_.fence_counter(of_.slot());
}

std::uint64_t exclusive_lock::asker::tokens_to_ask() const
{
    if (!of_.draws_tokens())
        return 0;
    if (!of_.contention_ || of_.how_.has_redisson_tokens)
        return 1;
    return of_.contention_->tokens.to_ask(followers());
}

// How many waiters after the head may get the lock without a script; counts only as many as matter.
// If there can be no such hand-over, a block of tokens would be drawn in vain.
std::uint64_t exclusive_lock::asker::followers() const noexcept
{
    if (of_.core_.settings().max_tenure <= milliseconds{0})
        return 0;
    auto const& head = of_.first();
    std::uint64_t found = 0;
    for (auto at = std::next(of_.queue_.begin()); at != of_.queue_.end(); ++at, ++found)
        if (found == decide::token_block::largest_first || !at->may_follow(head))
            break;
    return found;
}

void exclusive_lock::asker::on_head_left()
{
    bool const goes_on = of_.is_empty() && sending_.withdraw();
    if (!goes_on && !sending_)
        wake();
}

void exclusive_lock::asker::take_over(ownership const& from)
{
    if (request_.is_listed())  // from before the client adopted the lock
        give_back();
    request_.begin(from.number(), from.steps_sent(), from.server_until());
    request_.want(from.copies());
}

bool exclusive_lock::asker::judge(attempt const& asked, answer const& got)
{
    auto const read = decide::read_acquire(got.value, asked.tokens > 1);
    auto const is = decide::judge(got, read, asked.call.alone);
    auto const proven = request_.answered(is, got, asked.lease, asked.call.on, clock::now());
    of_.note_answer(is, got, asked.call.wants);
    switch (is.what) {
    case decide::outcome::kind::withdrawn:
    case decide::outcome::kind::pause:
    case decide::outcome::kind::lost: break;
    case decide::outcome::kind::failed: of_.end_arrived(asked.calls, is.why); break;
    case decide::outcome::kind::unsynced:
        if (!of_.is_empty() && !of_.first().wants.is_none()) {
            on_unsynced(is.why);
            break;
        }
        [[fallthrough]];
    case decide::outcome::kind::granted: on_granted(asked, read, proven); break;
    case decide::outcome::kind::refused: return on_refused(asked, read);
    }
    return false;
}

// If nobody is left, the loop gives the grant back. If the head has left, and the next waiter wants
// another lease or more copies, the same field is acquired again, which sets it.
void exclusive_lock::asker::on_granted(
    attempt const& asked, decide::acquire_answer const& read, decide::proven_grant const& proven
)
{
    if (of_.is_empty() || of_.first().lease != asked.lease ||
        !asked.call.wants.covers(of_.first().wants))
        return;
    switch (request_.use_of_grant(clock::now(), proven, clock::resumed())) {
    case decide::open_request::use::ask_again: break;
    case decide::open_request::use::give_back: give_back(); break;
    case decide::open_request::use::hand_out:
        auto const tokens = read.is_one_token ? 1 : asked.tokens;
        of_.hand_out({request_.close(), read.last_token, tokens, proven});
    }
}

// A waiter asks again when the grant has been given back; the wait for the copies was its pause.
void exclusive_lock::asker::on_unsynced(failure why)
{
    give_back();
    if (of_.first().once || why != error::not_replicated)
        of_.dismiss(of_.first(), why);
}

bool exclusive_lock::asker::on_refused(attempt const& asked, decide::acquire_answer const& got)
{
    if (!request_.is_listed())
        request_.close();
    if (!of_.ownership_)  // otherwise the client has adopted the lock meanwhile
        of_.forget_tenure();
    of_.send_away_who_tries_once();
    if (of_.is_empty())
        return false;
    auto const& head = of_.first();
    bool const named = !asked.since.empty() && asked.since != wait_place::none;
    if (head.attempts == 0 && !named)
        return false;  // a single try was refused, which took no place
    if (head.attempts == 1)
        head.tell_waiting(milliseconds{got.pttl});
    if (!of_.how_.subscribes) {
        pause_between_tries(got.pttl);
        return true;
    }
    auto& others = of_.ensure_contention();
    if (others.refused(got, asked.asked_at))
        return false;
    others.sleep_out(got.pttl, head.deadline());
    return true;
}

void exclusive_lock::asker::pause_between_tries(std::int64_t pttl)
{
    auto const& head = of_.first();
    auto const [initial, max, factor] = head.pauses;
    auto const pause =
        decide::backoff_pause(initial, max, factor, head.attempts, of_.core_.jitter());
    bool const is_sooner = pttl >= 0 && pttl < pause.count();
    of_.ensure_contention().sleep_until(
        clock::now() + (is_sooner ? milliseconds{pttl + 1} : pause), head.deadline()
    );
}

// Gives back a grant, or a possible grant, or a place in the list that nobody wants any more. The
// lock may have another ownership by now, if this client has adopted it. Nobody waits behind a
// place.
void exclusive_lock::asker::give_back()
{
    bool const is_just_a_place = !request_.stands(clock::now());
    auto* const listener = of_.ownership_ || is_just_a_place ? nullptr : &of_;
    auto const list_ends = request_.is_listed() ? clock::now() + decide::list_life : time_point{};
    auto const until = std::max(request_.until(), list_ends);
    auto const wanted = request_.wanted();
    auto const unwanted = make_recycled<ownership>(
        of_.core_, listener, of_.how_, of_.name(), request_.close(), owner{}
    );
    if (listener) {
        of_.forget_tenure();
        of_.ownership_ = unwanted;
    }
    unwanted->give_back(until, wanted, is_just_a_place);
}

}  // namespace colock
