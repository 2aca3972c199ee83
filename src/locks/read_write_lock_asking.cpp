// How a reader asks: one script, until it is answered.
#include "base/recycling.hpp"
#include "core/core.hpp"
#include "core/mailbox.hpp"
#include "decide/outcome.hpp"
#include "decide/wait_plan.hpp"
#include "locks/read_write_lock.hpp"

#include <string>
#include <utility>

namespace colock {

readers::asker::asker(readers& of, std::shared_ptr<waiter> who)
    : of_{of}
    , who_{std::move(who)}
    , request_{of.core_.next_number()}
    , field_{of.core_.field<recycled_string>(request_.number(), of.how_.field_end)}
    , lease_text_{std::to_string(who_->lease.count())}
    , prefix_{of.how_.leases(of.name(), of.core_.settings().key_prefix)}
    , keys_{of.name()}
    , arguments_{field_, lease_text_, prefix_}
    , sending_{of.core_}
{
    of.askers_.push_back(*this);
    who_->asking = this;
}

// NOLINTNEXTLINE(*-avoid-reference-coroutine-parameters): it stays while an asker is listed
strand_task readers::asker::run(readers& of, std::shared_ptr<waiter> who)
{
    core::activity const asking{of.core_};
    asker now{of, std::move(who)};
    for (bool again = true; again && now.is_wanted();) {
        ++now.who_->attempts;
        now.news_ = of.news_;
        step call{*of.how_.script.acquire, of.slot(), now.keys_, now.arguments_};
        now.who_->ask_copies(call);
        call.repeats = now.request_.is_open();
        now.request_.want(call.wants);
        answer const got = co_await now.sending_.send(call);
        again = now.judge(got, call);
        if (again)
            co_await now.sending_.repeats(got, {});
    }
    // Gives back a grant, or a possible grant, that nobody wants any more.
    if (now.request_.stands(clock::now()))
        now.make_ownership(owner{})->give_back(now.request_.until(), now.request_.wanted());
    of.look_again();
}

bool readers::asker::judge(answer const& got, step const& call)
{
    auto const read = decide::read_acquire(got.value);
    auto const is = decide::judge(got, read, call.alone);
    auto const proven = request_.answered(is, got, who_->lease, call.on, clock::now());
    of_.note_answer(is, got, call.wants);
    switch (is.what) {
    case decide::outcome::kind::withdrawn: break;
    case decide::outcome::kind::failed: fail(is.why); break;
    case decide::outcome::kind::pause:
    case decide::outcome::kind::lost: return true;
    case decide::outcome::kind::refused: on_refused(read.pttl); break;
    case decide::outcome::kind::granted: return on_granted(proven);
    case decide::outcome::kind::unsynced:
        if (!is_wanted())
            return on_granted(proven);
        // The grant is given back; a waiter asks again with the others.
        if (who_->once || is.why != error::not_replicated)
            fail(is.why);
    }
    return false;
}

void readers::asker::fail(failure why)
{
    if (is_wanted())
        of_.dismiss(*who_, why);
}

bool readers::asker::on_granted(decide::proven_grant const& proven)
{
    of_.closed_ = false;
    if (!is_wanted())
        return false;
    switch (request_.use_of_grant(clock::now(), proven, clock::resumed())) {
    case decide::open_request::use::ask_again: return true;
    case decide::open_request::use::give_back:  // so that writers have a chance
        of_.closed_ = true;
        of_.core_.set_alarm(of_.sleep_, clock::now() + of_.core_.repeat_pause(1));
        break;
    case decide::open_request::use::hand_out: hand_out(proven);
    }
    return false;
}

// Somebody writes. But a message since the question may say that the writer has left; then `look`
// finds nothing that keeps the reader from asking again.
void readers::asker::on_refused(std::int64_t pttl)
{
    bool const is_new = news_ == of_.news_;
    of_.closed_ = of_.closed_ || is_new;
    if (is_wanted() && who_->once)
        of_.dismiss(*who_, {});
    if (is_wanted() && who_->attempts == 1)
        who_->tell_waiting(milliseconds{pttl});
    if (is_new && !of_.is_empty()) {
        auto const now = clock::now();
        auto const cap = of_.core_.settings().poll_cap;
        of_.core_.set_alarm(of_.sleep_, decide::wake_time(now, pttl, cap).value_or(now + cap));
        of_.core_.mailbox().open(of_.slot());
        of_.subscribe();
    }
}

std::shared_ptr<ownership> readers::asker::make_ownership(owner const& who)
{
    auto const number = request_.number();
    auto made = make_recycled<ownership>(of_.core_, &of_, of_.how_, of_.name(), number, who);
    of_.ownerships_.emplace(number, made);
    return made;
}

void readers::asker::hand_out(decide::proven_grant const& proven)
{
    of_.take_out(*who_);
    auto const taken = who_->make_hold();
    make_ownership(who_->who)->begin(taken, proven);
    request_.close();
    who_->grant(taken);
}

}  // namespace colock
