#include "redis/command_link.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <charconv>
#include <utility>

namespace colock {

namespace redis = boost::redis;
using decide::reply;

namespace {

// Places of the replies in the probe; the scripts follow.
enum probe_place : std::size_t { place_id, place_time, place_info, place_scripts };

/// The value of `key` in a section of INFO, or nothing.
std::string info_field(std::string_view text, std::string_view key)
{
    auto const at = text.find(key);
    if (at == text.npos)
        return {};
    auto const value = text.substr(at + key.size());
    return std::string{value.substr(0, value.find_first_of("\r\n"))};
}

std::int64_t integer_of(reply const& r)
{
    std::int64_t n = r.number;
    if (r.what == reply::kind::text)
        std::from_chars(r.text.data(), r.text.data() + r.text.size(), n);
    return n;
}

}  // namespace

command_link::command_link(link_context const& context, listener& who, std::size_t index)
    : context_{context}
    , listener_{who}
    , index_{index}
    , loop_{std::make_shared<connection_loop>(
          context, static_cast<connection_loop::owner&>(*this), "link " + std::to_string(index)
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
    if (loop_->down_reason() == error::server_refused) {
        s.answered.set({answer::kind::failed, {}, error::server_refused, {}});
        return;
    }
    waiting_.push_back(s);
    if (gate_)
        schedule_flush();
}

bool command_link::withdraw(step& s) noexcept
{
    if (!s.is_linked())
        return false;
    waiting_.erase(waiting_.iterator_to(s));
    return true;
}

void command_link::abandon() noexcept
{
    *alive_ = false;
    while (!waiting_.empty()) {
        step& s = waiting_.front();
        waiting_.pop_front();
        s.answered.drop();
    }
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
    if (!gate_ || waiting_.empty())
        return;
    auto sending = std::make_shared<call_batch>();
    sending->sent = clock::now();
    sending->fill(waiting_, floor_, eval_only_);
    in_flight_.push_back(sending);
    auto& request = sending->request;
    auto adapter = collect_replies(sending->replies);
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
    if (!ec && done->replies->size() != done->calls.size()) {
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
        auto const& [first, count, is_whole] = done->calls[c];
        for (std::size_t i = 0; i != count; ++i) {
            step& s = *done->steps[first + i];
            if (!*alive)
                s.answered.drop();
            else if (ec)
                s.answered.set({answer::kind::lost, {}, ec, done->sent});
            else
                settle(s, done->reply_of(c, i), count != 1, done->sent);
        }
    }
}

void command_link::settle(step& s, reply&& value, bool in_company, time_point sent)
{
    if (value.what != reply::kind::error) {
        s.answered.set({answer::kind::replied, std::move(value), {}, sent});
        return;
    }
    auto const fault = decide::classify(value.text);
    if (fault == decide::fault::script_missing && !s.as_text) {
        s.as_text = true;
        submit(s);
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
                value.text
        );
    bool const passing = fault == decide::fault::passing;
    s.answered.set({answer::kind::failed, {}, error::server_refused, sent, passing});
}

void command_link::fail_waiting(error_code why)
{
    auto const alive = alive_;
    step_list failing;
    failing.swap(waiting_);
    while (!failing.empty()) {
        step& s = failing.front();
        failing.pop_front();
        if (*alive)
            s.answered.set({answer::kind::failed, {}, why, {}});
        else
            s.answered.drop();
    }
}

void command_link::write_probe(redis::request& to)
{
    to.push("CLIENT", "ID");
    to.push("TIME");
    to.push("INFO", "server");
    for (auto const* script : scripts::all)
        to.push("SCRIPT", "LOAD", script->text);
}

error_code command_link::judge_probe(connection_loop::replies const& got)
{
    if (got.size() != place_scripts + scripts::all.size())
        return error::bad_reply;
    for (auto const& r : got)
        if (r.what == reply::kind::error && decide::classify(r.text) == decide::fault::not_now)
            return error::unavailable;
    auto const& time = got[place_time];
    if (time.what != reply::kind::list || time.items.size() != 2) {
        write_log(
            context_.settings.log,
            log_level::error,
            loop_->name() + ": the server refuses TIME: " + time.text
        );
        return error::server_refused;
    }
    floor_ = std::to_string(integer_of(time.items[0]) * 1'000'000 + integer_of(time.items[1]));

    auto const refused = std::find_if(got.begin() + place_scripts, got.end(), [](reply const& r) {
        return r.what == reply::kind::error;
    });
    eval_only_ = refused != got.end();
    if (eval_only_ && !std::exchange(warned_eval_, true))
        write_log(
            context_.settings.log,
            log_level::warning,
            loop_->name() +
                ": the server refuses SCRIPT LOAD, each script is sent as text: " + refused->text
        );

    // Connection numbers begin again with the server: only while it is the same one does the old
    // number mean the old connection.
    auto const run_id = info_field(got[place_info].text, "run_id:");
    if (run_id.empty() || run_id != run_id_)
        predecessor_ = 0;
    else if (std::exchange(carried_, false))
        predecessor_ = connection_id_;  // else the one before it, which may not be killed yet
    run_id_ = run_id;
    connection_id_ = integer_of(got[place_id]);
    return {};
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
    if (why == error::server_refused)
        fail_waiting(why);
}

void command_link::on_refused(error_code why) { fail_waiting(why); }

}  // namespace colock
