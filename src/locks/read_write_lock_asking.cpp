// How a reader asks: one script, until it is answered.
#include "base/recycling.hpp"
#include "core/core.hpp"
#include "core/mailbox.hpp"
#include "decide/outcome.hpp"
#include "decide/wait_plan.hpp"
#include "locks/read_write_lock.hpp"

#include <functional>
#include <string>
#include <utility>

namespace colock {

/// One question, about the news that were known then.
struct readers::asker::attempt {
    explicit attempt(asker& by)
        : news{by.of_.news_}
        , call{*by.of_.how_.script.acquire, by.of_.slot(), by.keys_, by.arguments_}
    {
        ++by.who_->attempts;
        by.who_->ask_copies(call);
        call.repeats = by.request_.is_open();
        by.request_.want(call.wants);
    }
    attempt(attempt const&) = delete;
    attempt& operator=(attempt const&) = delete;

    std::uint64_t news;  ///< the value of `readers::news_`
    step call;
    reliable::terms terms{};
};

readers::asker::asker(readers& of, std::shared_ptr<waiter> who)
    : contender{of.core_, of.core_.next_number()}
    , of_{of}
    , who_{std::move(who)}
    , field_{of.core_.field<recycled_string>(request_.number(), of.how_.field_end)}
    , lease_text_{std::to_string(who_->lease.count())}
    , prefix_{of.how_.leases(of.name(), of.core_.settings().key_prefix)}
    , keys_{of.name()}
    , arguments_{field_, lease_text_, prefix_}
{
    of.askers_.push_back(*this);
    who_->asking = this;
}

void readers::asker::begin(readers& of, std::shared_ptr<waiter> who)
{
    contend<asker>(std::ref(of), std::move(who));
}

// Gives back a grant, or a possible grant, that nobody wants any more.
void readers::asker::end()
{
    if (request_.stands(clock::now()))
        make_ownership(owner{})->give_back(request_.until(), request_.wanted());
    of_.look_again();
}

bool readers::asker::judge(attempt const& asked, answer const& got)
{
    is_answered_ = !asks_again(asked, got);
    return false;
}

bool readers::asker::asks_again(attempt const& asked, answer const& got)
{
    auto const read = decide::read_acquire(got.value);
    auto const is = decide::judge(got, read, asked.call.alone);
    auto const proven = request_.answered(is, got, who_->lease, asked.call.on, clock::now());
    of_.note_answer(is, got, asked.call.wants);
    switch (is.what) {
    case decide::outcome::kind::withdrawn: break;
    case decide::outcome::kind::failed: fail(is.why); break;
    case decide::outcome::kind::pause:
    case decide::outcome::kind::lost: return true;
    case decide::outcome::kind::refused: on_refused(asked, read.pttl); break;
    case decide::outcome::kind::granted: return on_granted(proven);
    case decide::outcome::kind::unsynced:
        if (!is_waiting())
            return on_granted(proven);
        // The grant is given back; a waiter asks again with the others.
        if (who_->once || is.why != error::not_replicated)
            fail(is.why);
    }
    return false;
}

void readers::asker::fail(failure why)
{
    if (is_waiting())
        of_.dismiss(*who_, why);
}

bool readers::asker::on_granted(decide::proven_grant const& proven)
{
    of_.closed_ = false;
    if (!is_waiting())
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
void readers::asker::on_refused(attempt const& asked, std::int64_t pttl)
{
    bool const is_new = asked.news == of_.news_;
    of_.closed_ = of_.closed_ || is_new;
    if (is_waiting() && who_->once)
        of_.dismiss(*who_, {});
    if (is_waiting() && who_->attempts == 1)
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
