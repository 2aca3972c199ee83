#include "decide/backoff.hpp"
#include "redis/any_command.hpp"
#include "redis/command_link.hpp"
#include "redis/link_settings.hpp"
#include "redis/permissions.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <utility>

namespace colock {

using decide::reply;

namespace {

/// Batches that are kept to be used again.
constexpr std::size_t most_spare = 4;

/// Writes without an answer. Steps that come meanwhile go together in the next one, because a
/// server takes from a connection with TLS two writes at a time: single answers would lead to
/// single steps.
constexpr std::size_t most_in_flight = 6;

/// TCP gives up what it has sent in vain about as late as this.
constexpr std::chrono::minutes longest_on_the_way{16};

/// A step that is refused for the moment is sent again before that, so an older refusal is over.
constexpr milliseconds refusal_life = 2 * decide::longest_repeat_pause;

}  // namespace

command_link::command_link(link_context const& context, listener& who, description here)
    : context_{context}
    , listener_{who}
    , description_{std::move(here)}
    , loop_{std::make_shared<connection_loop>(
          context,
          static_cast<connection_loop::listener&>(*this),
          connection_loop::description{
              description_.name, description_.where, wanted_role(context.settings)}
      )}
{
    life_.link = ++context.known->links_made;
}

command_link::~command_link()
{
    destroy_pending();
    loop_->detach();
}

void command_link::start()
{
    started_ = true;
    loop_->start();
}

void command_link::stop()
{
    started_ = false;
    loop_->stop();
    fail_waiting(error::closed);
}

void command_link::submit(step& s)
{
    if (is_refusal(loop_->down_reason())) {
        s.answered.set({answer::kind::failed, {}, loop_->down_reason(), {}});
        return;
    }
    wanted_ |= s.wants;
    waiting_.push_back(s);
    if (is_ready_)
        schedule_flush();
}

void command_link::destroy_pending() noexcept
{
    *alive_ = false;
    destroy_tasks(waiting_);
    for (auto const& sent : std::exchange(in_flight_, {}))
        sent->drop_steps();
    replicas_->drop_steps();
}

void command_link::schedule_flush()
{
    if (flushing_)
        return;
    if (takes_turns_ && in_flight_.empty())
        return flush();
    flushing_ = true;
    asio::post(context_.strand, [this, alive = alive_] {
        if (*alive)
            flush();
    });
}

void command_link::flush()
{
    flushing_ = takes_turns_ = false;
    if (waiting_.empty()) {
        if (tell_answered_)
            tell_answered_();  // the waiting steps were withdrawn
        return;
    }
    if (!is_ready_ || !loop_->can_send() || in_flight_.size() == most_in_flight)
        return;
    auto const now = clock::now();
    if (!wanted_.is_none() && !knows_copies(now))
        return;
    bool const by_slot = context_.settings.topology == topology::cluster;
    auto const& sending = in_flight_.emplace_back(take_batch());
    auto& pipeline = loop_->pipeline();
    sending->fill(
        waiting_,
        {eval_only_, by_slot, description_.publish, &known_, &life_, &pipeline, &context_.settings},
        pipeline.out(),
        now
    );
    under_way_ += sending->steps().size();
    pipeline.expect(sending.get(), now);
    replicas_->wrote(sending->steps(), now);
    loop_->flush();
}

std::shared_ptr<call_batch> command_link::take_batch()
{
    if (spare_.empty())
        return std::make_shared<call_batch>(static_cast<call_batch::listener&>(*this));
    auto taken = std::move(spare_.back());
    spare_.pop_back();
    return taken;
}

void command_link::on_batch_over(call_batch& over)
{
    auto const at = std::ranges::find(in_flight_, &over, &std::shared_ptr<call_batch>::get);
    if (at == in_flight_.end())
        return;
    under_way_ -= over.size();
    takes_turns_ = over.size() == 1 && in_flight_.size() == 1;
    if (in_flight_.size() == most_in_flight && !waiting_.empty())
        schedule_flush();
    if (spare_.size() < most_spare)
        spare_.push_back(std::move(*at));
    in_flight_.erase(at);
    if (tell_answered_)
        tell_answered_();
}

void command_link::on_step_lost(step& s, time_point sent)
{
    lost_until_ = clock::now() + longest_on_the_way;
    auto const why = "the connection to " + loop_->what_is_tried() + " was lost before the answer";
    s.answered.set({answer::kind::lost, {}, detail::unavailable(why), sent});
}

void command_link::write_wait(unsigned replicas, bool disk, milliseconds limit)
{
    auto& pipeline = loop_->pipeline();
    if (disk)
        pipeline.out().push("WAITAOF", 1, 0, limit.count());
    pipeline.out().push("WAIT", replicas, limit.count());
    pipeline.write_ping();
    pipeline.expect(replicas_.get(), clock::now());
    auto const longest = (disk ? 2 : 1) * limit;
    context_.set_alarm(slice_over_, clock::now() + longest + milliseconds{1});
}

unsigned command_link::replicas_there(unsigned seen)
{
    auto const& settings = context_.settings;
    auto& most = context_.known->replicas_of(loop_->where(), settings.topology);
    if (settings.topology == topology::replicated)
        seen = std::max(seen, static_cast<unsigned>(settings.addresses.size()) - 1);
    most = std::max(most, seen);
    return settings.replicas.value_or(most);
}

void command_link::look_at(time_point at) { context_.set_alarm(owed_due_, at); }

void command_link::look_at_owed()
{
    if (!is_ready_ || !loop_->can_send())
        return;  // what is owed is lost with the connection
    replicas_->look(clock::now());
    loop_->flush();
}

// A server that has nothing else to do looks at the limit of a WAIT ten times a second only, and
// whenever something comes.
void command_link::end_slice()
{
    if (!loop_->is_up() || !replicas_->is_asking())
        return;
    loop_->pipeline().write_ping();
    loop_->pipeline().expect(nullptr, clock::now());
    loop_->flush();
}

void command_link::on_waited(step& s, answer&& got) { s.answered.set(std::move(got)); }

void command_link::on_step(step& s, reply&& value, bool in_company, time_point sent)
{
    if (value.what == reply::kind::error)
        settle_error(s, std::move(value), in_company, sent);
    else if (replica_waits::concern(s, value))
        replicas_->keep(s, std::move(value), sent);
    else if (s.whole && is_refused_in_part(s, value))
        s.answered.set({answer::kind::not_now, {}, error::unavailable, sent});
    else {
        bool const has_written = value.what != reply::kind::nil || s.repeats || s.alone;
        if (auto owed = std::exchange(s.owed, nullptr); owed && has_written)
            replicas_->owe(std::move(owed), clock::now());
        s.answered.set({answer::kind::replied, std::move(value), {}, sent});
    }
}

/// In the answer to a call for many, errors stand among the parts. Their owners see to them, but a
/// replica refuses to write for all: true if it does.
bool command_link::is_refused_in_part(step const& s, reply const& parts)
{
    for (auto const& part : parts.items) {
        if (part.what != reply::kind::error)
            continue;
        auto const fault = decide::classify(part.text);
        if (fault == decide::fault::read_only) {
            note_refusal(s.what.name, part.text);
            loop_->leave_replica();
            return true;
        }
        if (fault != decide::fault::wrong_type)
            log_refusal(s, part.text, {});  // a line for all keys
    }
    return false;
}

void command_link::settle_error(step& s, reply&& value, bool in_company, time_point sent)
{
    using decide::fault;
    auto const what = decide::classify(value.text);
    // The next call tells the server the script, for all; one that keeps none gets it each time.
    if (what == fault::script_missing && !s.as_text) {
        std::erase(known_, &form_of(s.what, description_.publish));
        s.as_text = std::exchange(s.was_unknown, true);
        return submit(s);
    }
    if (what == fault::redirected)
        return redirect(s, value.text, in_company, sent);
    bool const is_for_asker =
        what == fault::wrong_type || what == fault::refused || what == fault::passing;
    if (&s.what == &any_command && is_for_asker)
        return s.answered.set({answer::kind::replied, std::move(value), {}, sent});
    bool const is_logged_out = loop_->restart_if_logged_out(value.text);
    if (what == fault::read_only || what == fault::not_now)
        note_refusal(s.what.name, value.text);
    if (what == fault::read_only)
        loop_->leave_replica();
    if (what == fault::read_only || what == fault::not_now || is_logged_out)
        return s.answered.set({answer::kind::not_now, {}, error::unavailable, sent});
    if (what == fault::wrong_type)
        return s.answered.set({answer::kind::failed, {}, error::wrong_type, sent});
    // Perhaps it is another lock's key that may not be touched.
    if (in_company) {
        s.alone = true;
        return submit(s);
    }
    // A call for many is tried again in parts.
    if (!s.whole || s.keys.size() == 1)
        log_refusal(s, value.text, s.keys);
    bool const passing = what == fault::passing;
    auto const why =
        detail::refusal(redacted(value.text, context_.settings), passing, loop_->what_is_tried());
    s.answered.set({answer::kind::failed, {}, why, sent, passing});
}

void command_link::redirect(step& s, std::string const& text, bool in_company, time_point sent)
{
    auto const to = decide::read_redirection(text);
    using kind = decide::redirection::kind;
    if (to.what == kind::down)
        note_refusal(s.what.name, text);
    // Some of several keys may be here; one by one they can be served.
    if (!in_company || (to.what != kind::ask && to.what != kind::try_again))
        return listener_.on_redirect(*this, s, to, sent);
    s.alone = true;
    submit(s);
}

/// The server does nothing for the moment.
void command_link::note_refusal(std::string_view command, std::string const& text)
{
    auto const words = redacted(text, context_.settings);
    refusal_ = detail::unavailable(loop_->what_is_tried() + " refuses for the moment: " + words);
    refused_ = clock::now();
    if (decide::classify(text) == decide::fault::read_only)
        return;  // the end of the connection says so
    loop_->say(
        log_level::warning,
        "for the moment",
        words,
        "the server refuses " + std::string{command} + " for the moment: " + words +
            "; trying again"
    );
}

failure command_link::down_reason() const noexcept
{
    auto const why =
        loop_->is_up() && !is_ready_ ? failure{error::unavailable} : loop_->down_reason();
    bool const is_refused = refusal_ && clock::now() - refused_ < refusal_life;
    return is_refused && !why.said ? refusal_ : why;
}

void command_link::log_refusal(
    step const& s, std::string const& text, std::span<std::string_view const> keys
) const
{
    std::string const script{s.what.name};
    loop_->say(
        log_level::error,
        "refuses",
        script + ' ' + text.substr(0, text.find(' ')),
        "the server refuses script " + script + ": " + redacted(text, context_.settings) +
            permission_remedy(text, context_.settings, keys)
    );
}

void command_link::fail_waiting(failure why)
{
    step_list failing;
    failing.swap(waiting_);
    fail_all(std::move(failing), alive_, why);
}

void command_link::on_up()
{
    if (predecessor_ != 0)
        kill_predecessor(predecessor_);
    else
        become_ready();
}

// Bytes of the old connection may still be in the server's buffer. If a step in them ran after its
// undo, it would leave a lock without an owner for a lease.
void command_link::kill_predecessor(std::int64_t id)
{
    loop_->ask(
        [id](resp::writer& out) { out.push("CLIENT", "KILL", "ID", id); },
        [this](error_code ec, replies const& got) {
            if (ec)
                return;
            auto const& answer = got.front();
            bool const is_refused = answer.what == reply::kind::error;
            // A busy server has not looked. Any other error says that this user may not end it:
            // go on, and what was lost with it may run at any time.
            if (is_refused && decide::classify(answer.text) == decide::fault::not_now) {
                note_refusal("CLIENT KILL", answer.text);
                return loop_->restart(error::unavailable, redacted(answer.text, context_.settings));
            }
            others_ended_ = others_ended_ && !is_refused;
            become_ready();
        }
    );
}

void command_link::become_ready()
{
    predecessor_ = 0;
    std::erase_if(left_, [this](auto const& each) { return each.run_id == run_id_; });
    life_.begin(static_cast<std::uint32_t>(loop_->epoch()), others_ended_);
    carried_ = is_ready_ = true;
    takes_turns_ = false;
    lost_until_ = {};
    // Before the steps that wait are sent, the listener decides which of them are still wanted.
    listener_.on_command_link_up(*this);
    if (!waiting_.empty())
        schedule_flush();
}

void command_link::on_down(error_code why)
{
    bool const was_up = std::exchange(is_ready_, false);
    auto const alive = alive_;
    copies_asked_ = {};
    is_disk_asked_ = is_asking_copies_ = false;
    owed_due_.clear();
    replicas_->lose_owed();
    if (!*alive)
        return;
    if (was_up)
        listener_.on_command_link_down(*this, started_ ? why : error::closed);
    else
        listener_.on_command_link_failed(*this);
    if (*alive)
        fail_if_over();
    if (*alive && tell_answered_)
        tell_answered_();
}

void command_link::on_failed(failure)
{
    auto const alive = alive_;
    fail_if_over();
    if (*alive)
        listener_.on_command_link_failed(*this);
}

/// Fails the waiting steps if the link is refused, or was stopped meanwhile.
void command_link::fail_if_over()
{
    if (!started_)
        fail_waiting(error::closed);
    else if (is_refusal(loop_->down_reason()))
        fail_waiting(loop_->down_reason());
}

}  // namespace colock
