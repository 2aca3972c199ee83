#include "redis/any_command.hpp"
#include "redis/command_link.hpp"
#include "redis/permissions.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <utility>

namespace colock {

namespace redis = boost::redis;
using decide::reply;

command_link::command_link(link_context const& context, listener& who, place here)
    : context_{context}
    , listener_{who}
    , place_{std::move(here)}
    , loop_{std::make_shared<connection_loop>(
          context, static_cast<connection_loop::owner&>(*this), place_.name, place_.where
      )}
{}

command_link::~command_link()
{
    abandon();
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
    waiting_.push_back(s);
    if (gate_)
        schedule_flush();
}

void command_link::abandon() noexcept
{
    *alive_ = false;
    drop_all(waiting_);
    for (auto& sent : std::exchange(in_flight_, {}))
        for (step* s : std::exchange(sent->steps, {}))
            s->answered.drop();
}

void command_link::schedule_flush()
{
    if (std::exchange(flushing_, true))
        return;
    asio::post(context_.strand, [this, alive = alive_] {
        if (*alive)
            flush();
    });
}

void command_link::flush()
{
    flushing_ = false;
    if (!gate_ || waiting_.empty() || (place_.in_rounds && !in_flight_.empty()))
        return;
    auto sending = std::make_shared<call_batch>();
    sending->sent = clock::now();
    bool const by_slot = context_.settings.topology == topology::cluster;
    sending->fill(waiting_, {floor_, eval_only_, by_slot, place_.publish});
    in_flight_.push_back(sending);
    auto& request = sending->request;
    auto adapter = loop_->collect(sending->replies);
    loop_->connection().async_exec(
        request,
        std::move(adapter),
        [this, alive = alive_, sent = std::move(sending), connection = loop_->share_connection()](
            error_code ec, std::size_t
        ) mutable {
            if (!*alive)
                return;
            if (auto const life = context_.life.lock())
                on_batch(std::move(sent), ec);
        }
    );
}

void command_link::on_batch(std::shared_ptr<call_batch> done, error_code ec)
{
    std::erase(in_flight_, done);
    if (!ec && done->replies->size() != done->request.get_commands()) {
        // Whose reply is whose can't be known any more.
        ec = error::bad_reply;
        loop_->restart(ec);
    }
    // Boost.Redis calls a lost connection so; to a caller it means that he has cancelled.
    if (ec == asio::error::operation_aborted)
        ec = error::unavailable;
    // Setting an answer runs what waits for it, and that may end this link.
    auto const alive = alive_;
    for (std::size_t c = 0; c != done->calls.size(); ++c) {
        auto const first = done->calls[c].first, count = done->calls[c].count;
        for (std::size_t i = 0; i != count; ++i) {
            step& s = *done->steps[first + i];
            if (!*alive)
                s.answered.drop();
            else if (ec)
                s.answered.set({answer::kind::lost, {}, ec, done->sent});
            else
                settle(s, done->reply_of(c, i), count != 1, done->sent, done->unsynced(s));
        }
    }
    if (*alive && place_.in_rounds && gate_ && !waiting_.empty())
        schedule_flush();
}

void command_link::settle(
    step& s, reply&& value, bool in_company, time_point sent, error_code unsynced
)
{
    if (value.what != reply::kind::error) {
        s.answered.set({answer::kind::replied, std::move(value), {}, sent, false, unsynced});
        return;
    }
    auto const fault = decide::classify(value.text);
    if (fault == decide::fault::script_missing && !s.as_text) {
        s.as_text = true;
        submit(s);
        return;
    }
    if (fault == decide::fault::redirected) {
        auto const to = decide::read_redirection(value.text);
        using kind = decide::redirection::kind;
        // Of several keys some may be here, and can be served one by one.
        if (in_company && (to.what == kind::ask || to.what == kind::try_again)) {
            s.alone = true;
            submit(s);
        } else
            listener_.on_redirect(*this, s, to, sent);
        return;
    }
    bool const is_for_asker = fault == decide::fault::wrong_type ||
        fault == decide::fault::refused || fault == decide::fault::passing;
    if (&s.what == &any_command && is_for_asker) {
        s.answered.set({answer::kind::replied, std::move(value), {}, sent});
        return;
    }
    if (fault == decide::fault::read_only)
        loop_->restart(error::unavailable);
    if (fault == decide::fault::read_only || fault == decide::fault::not_now) {
        s.answered.set({answer::kind::not_now, {}, error::unavailable, sent});
        return;
    }
    if (fault == decide::fault::wrong_type) {
        s.answered.set({answer::kind::failed, {}, error::wrong_type, sent});
        return;
    }
    // Perhaps it is another lock's key that may not be touched.
    if (in_company) {
        s.alone = true;
        submit(s);
        return;
    }
    // a call for many is tried again in parts
    if (!s.whole || s.keys.size() == 1)
        write_log(
            context_.settings.log,
            log_level::error,
            loop_->name() + ": the server refuses script " + std::string{s.what.name} + ": " +
                value.text + permission_remedy(value.text, context_.settings, s.keys)
        );
    bool const passing = fault == decide::fault::passing;
    s.answered.set({answer::kind::failed, {}, error::server_refused, sent, passing});
}

void command_link::fail_waiting(error_code why)
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
        open_gate();
}

// Bytes of the old connection may still lie in the server's buffer. A step of theirs that ran
// after its undo would leave a lock that nobody owns for a lease.
void command_link::kill_predecessor(std::int64_t id)
{
    auto request = std::make_shared<redis::request>();
    request->push("CLIENT", "KILL", "ID", id);
    loop_->exec(std::move(request), [this](error_code ec, connection_loop::replies const&) {
        if (!ec)
            open_gate();  // an error reply says that it is gone, or that we may not: go on
    });
}

void command_link::open_gate()
{
    predecessor_ = 0;
    carried_ = gate_ = true;
    listener_.on_command_link_up(*this);
    if (!waiting_.empty())
        schedule_flush();
}

void command_link::on_down(error_code why)
{
    gate_ = false;
    listener_.on_command_link_down(*this, why);
    if (is_refusal(why))
        fail_waiting(why);
}

void command_link::on_failed(error_code why)
{
    auto const alive = alive_;
    if (is_refusal(why))
        fail_waiting(why);
    if (*alive)
        listener_.on_command_link_failed(*this);
}

}  // namespace colock
