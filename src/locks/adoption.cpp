#include "base/recycling.hpp"
#include "core/arguments.hpp"
#include "core/core.hpp"
#include "core/script_call.hpp"
#include "decide/claim.hpp"
#include "decide/names.hpp"
#include "decide/outcome.hpp"
#include "holds/ownership.hpp"
#include "locks/exclusive_lock.hpp"
#include "locks/lock_table.hpp"
#include "waiting/contender.hpp"
#include "waiting/wait_queue.hpp"
#include <colock/claim.hpp>
#include <colock/client.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace colock {

namespace {

/// The calls of this client that want to adopt the same ownership of another client. It asks the
/// server for the first of them; the others find the claim gone.
///
/// The caller may leave at any time. A step that was not sent is taken back then. If the server may
/// have moved the lock, it is released again.
class adoption final : public wait_queue, public contender {
public:
    /// `key`: under which the client finds it.
    adoption(core&, lock_traits const&, std::string key, std::string lock, std::string field);

    void admit(std::shared_ptr<waiter> const&) override;

    /// It waits for an answer and for no holder.
    void tell(presence&) const override {}

    // ---- For `contend`. It waits for nothing, and its request has the number of the ownership
    // that the claim becomes.

    struct attempt;
    bool is_wanted() const noexcept { return !is_empty(); }
    bool judge(attempt const&, answer const&);
    void end();

private:
    void
    on_answer(attempt const&, decide::acquire_answer const&, decide::outcome const&, decide::proven_grant const&);
    void on_moved(std::uint64_t token, decide::proven_grant const&);
    void give_back();
    void on_left(waiter&, bool was_first) override;

    lock_traits const& how_;
    std::string lock_;
    std::string field_;  ///< of the claim
};

/// One script, with the texts that it refers to.
struct adoption::attempt : script_call {
    explicit attempt(adoption& of) : script_call{about(of), of.slot()}, lease{of.first().lease}
    {
        ++of.first().attempts;
        of.first().ask_copies(call);
        call.repeats = of.request_.is_open();
        of.request_.want(call.wants);
        if (keys.size() > 1)
            call.tokens = of.how_.has_redisson_tokens ? redisson_tokens : clock_tokens;
    }

    static script_call::request about(adoption& of)
    {
        script_call::request made{
            &scripts::adopt,
            {of.lock_},
            {of.field_,
             of.core_.field(of.ensure_number()),
             std::to_string(of.first().lease.count())}};
        if (of.how_.has_redisson_tokens)
            made.keys.push_back(decide::token_counter(of.lock_, of.core_.settings().key_prefix));
        else if (of.core_.settings().fencing)
            made.keys.push_back(of.core_.fence_counter(of.slot()));
        return made;
    }

    milliseconds lease;
    reliable::terms terms{};
};

adoption::adoption(
    core& inside, lock_traits const& how, std::string key, std::string lock, std::string field
)
    : wait_queue{inside, state_kind::adoption, std::move(key), decide::slot_of(lock)}
    , contender{inside}
    , how_{how}
    , lock_{std::move(lock)}
    , field_{std::move(field)}
{}

void adoption::admit(std::shared_ptr<waiter> const& who)
{
    join(who);
    if (!is_contending())
        contend<adoption&>(std::ref(*this));
}

void adoption::end()
{
    if (request_.stands(clock::now()))
        give_back();
    unregister();  // which may destroy this
}

bool adoption::judge(attempt const& asked, answer const& got)
{
    auto const read = decide::read_acquire(got.value);
    auto const is = decide::judge(got, read);  // the script never shares a call
    auto const proven = request_.answered(is, got, asked.lease, asked.call.on, clock::now());
    if (!is_empty())
        on_answer(asked, read, is, proven);
    return false;
}

void adoption::on_answer(
    attempt const& asked,
    decide::acquire_answer const& read,
    decide::outcome const& is,
    decide::proven_grant const& proven
)
{
    using kind = decide::outcome::kind;
    if (is.what == kind::refused)
        dismiss(first(), error::claim_gone);
    else if (is.what == kind::failed)
        dismiss(first(), is.why);
    else if (is.what == kind::unsynced && !first().wants.is_none()) {
        give_back();
        dismiss(first(), is.why);
    } else if ((is.what == kind::granted || is.what == kind::unsynced) &&
               first().lease == asked.lease && asked.call.wants.covers(first().wants))
        on_moved(read.last_token, proven);
}

// If the answer comes too late to be of use, the next one sets the lease again, unless the server
// or the network is always that late.
void adoption::on_moved(std::uint64_t token, decide::proven_grant const& proven)
{
    switch (request_.use_of_grant(clock::now(), proven, clock::resumed())) {
    case decide::open_request::use::ask_again: break;
    case decide::open_request::use::give_back:
        give_back();
        dismiss(first(), error::unavailable);
        break;
    case decide::open_request::use::hand_out: {
        auto const who = take_first();
        auto const make = [&] { return make_recycled<exclusive_lock>(core_, how_, lock_); };
        find_or_make<exclusive_lock>(core_.keyed_states(), state_of(how_.kind), lock_, make)
            .adopt(who, request_.close(), token, proven);
    }
    }
}

void adoption::give_back()
{
    auto const until = request_.until();
    auto const wanted = request_.wanted();
    make_recycled<ownership>(core_, nullptr, how_, lock_, request_.close(), owner{})
        ->give_back(until, wanted);
}

void adoption::on_left(waiter&, bool was_first)
{
    if (was_first)
        sending_.withdraw();
}

}  // namespace

inline namespace v0_3 {
namespace detail {

namespace {

/// The kind of lock that a claim names; nothing if it can't be adopted.
lock_traits const* kind_of(claim const& what) noexcept
{
    for (auto const& how : all_lock_traits())
        if (how.may_be_taken_over && what.kind == word_of(colock::state_of(how.kind)))
            return &how;
    return nullptr;
}

}  // namespace

void adopt_claim(core_ptr inside, handler<adopted> handler, claim what, acquire_options options)
{
    auto const* const how = kind_of(what);
    bool const is_good = how && decide::is_possible(what);
    auto const wrong =
        is_good ? check(*inside, lock_id{what.name}, options) : failure{error::invalid_argument};
    auto const who = make_waiter(
        std::move(inside), std::move(handler), state_kind::adoption, std::move(what.name), options
    );
    who->wait = who->inside->settings().timeout;
    who->once = true;
    asio::dispatch(who->inside->strand(), [who, how, wrong, field = std::move(what.field)] {
        core& owner = *who->inside;
        if (auto const ec = wrong ? wrong : owner.enter())
            return who->fail(ec);
        who->arrive();
        auto const key = field + ' ' + who->name;
        auto const make = [&] {
            return make_recycled<adoption>(owner, *how, key, who->name, field);
        };
        find_or_make<adoption>(owner.keyed_states(), state_kind::adoption, key, make).admit(who);
    });
}

}  // namespace detail
}  // namespace v0_3

}  // namespace colock
