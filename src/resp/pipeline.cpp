#include "decide/number.hpp"
#include "resp/pipeline.hpp"

#include <algorithm>
#include <utility>

namespace colock::resp {

namespace {

/// So many bytes of a message that has not come whole are a sign of life. With fewer, a reply that
/// comes byte by byte would hold the connection for ever.
constexpr std::size_t least_part = 1'024;

/// The memory of what is done is used again, so that a busy connection allocates nothing.
template <class Item>
void forget_done(std::vector<Item>& all, std::size_t& first)
{
    if (first == all.size())
        all.clear();
    else if (first > 64 && first > all.size() / 2)
        all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(first));
    else
        return;
    first = 0;
}

template <class Item>
void give_back_done(std::vector<Item>& all, std::size_t& first, std::size_t most)
{
    if (first != all.size() || all.capacity() * sizeof(Item) <= most)
        return;
    std::vector<Item>{}.swap(all);
    first = 0;
}

bool is_number(node const& n, std::uint64_t number) noexcept
{
    return n.what == node::kind::text && decide::number_of<std::uint64_t>(n.text) == number;
}

}  // namespace

// ---- Out ---------------------------------------------------------------------------------------

std::uint64_t pipeline::number_last(bool is_ping)
{
    forget_done(numbered_, first_numbered_);
    numbered_.push_back({out_.commands() - 1, next_number_, is_ping});
    return next_number_++;
}

void pipeline::write_ping()
{
    out_.begin(2);
    out_.add("PING");
    out_.add(number_last(true));
}

void pipeline::write_alone(writer&& command)
{
    alone_.emplace(std::string{}, out_.bytes().size(), out_.commands());
    command.swap_bytes(alone_->bytes);
    out_.count();
}

void pipeline::expect(reply_handler* who, time_point now, answered_by how)
{
    auto const count = out_.commands() - announced_;
    if (count == 0)
        return;
    announced_ = out_.commands();
    if (failed_) {
        if (who)
            who->on_lost(failed_);
        return;
    }
    forget_done(owed_, first_owed_);
    owed_.push_back({who, count, now, how});
}

bool pipeline::has_output() const noexcept
{
    if (!alone_)
        return !out_.empty();
    return alone_->before != 0 || (!alone_->bytes.empty() && answered_ == alone_->command);
}

bool pipeline::take_output(std::string& into)
{
    into.clear();
    if (!has_output())
        return false;
    if (!alone_)
        out_.swap_bytes(into);
    else if (auto const before = std::exchange(alone_->before, 0))
        out_.take_front(before, into);
    else {
        alone_->bytes.swap(into);
        alone_->bytes.clear();
        return true;
    }
    return false;
}

void pipeline::shrink(std::size_t most) noexcept
{
    out_.shrink(most);
    parser_.shrink(most);
    give_back_done(owed_, first_owed_, most);
    give_back_done(numbered_, first_numbered_, most);
}

std::size_t pipeline::capacity() const noexcept
{
    return out_.bytes().capacity() + parser_.capacity() + owed_.capacity() * sizeof(owed) +
        numbered_.capacity() * sizeof(numbered);
}

// ---- In ----------------------------------------------------------------------------------------

void pipeline::hear(time_point now) noexcept
{
    unheard_ = 0;
    heard_ = now;
    silence_ends_ = now + time_limits_.silence;
    asked_ = looked_ = probed_ = false;
}

error_code pipeline::received(std::size_t bytes, time_point now)
{
    parser_.commit(bytes);
    unheard_ += bytes;
    if (unheard_ >= least_part)
        hear(now);
    while (!failed_) {
        switch (parser_.next()) {
        case parser::outcome::more: return {};
        case parser::outcome::broken: return error::bad_reply;
        case parser::outcome::message: hear(now);
        }
        if (auto const ec = dispatch(parser_.last(), now))
            return ec;
    }
    return failed_;
}

error_code pipeline::dispatch(message const& got, time_point now)
{
    if (got.is_push() && !is_answer(got)) {
        if (pushes_)
            pushes_->on_push(got);
        return {};
    }
    if (is_idle())
        return end_out_of_step();
    owed& first = owed_[first_owed_];
    auto const answer = answer_in(got);
    lacks_push_ = answer && !got.is_push() && first.how == answered_by::push && !got.is_error();
    if (!answer || lacks_push_)
        return end_out_of_step();
    auto* const who = first.who;
    note_answer(first, now);
    if (who)
        who->on_reply(*answer);
    return {};
}

// Nobody can tell any more which reply belongs to which command.
error_code pipeline::end_out_of_step() noexcept
{
    is_out_of_step_ = true;
    return error::bad_reply;
}

/// The message for the handler, which takes the place of `got`; nothing if the next command has
/// another number.
std::optional<message> pipeline::answer_in(message const& got) noexcept
{
    bool const has_number =
        first_numbered_ != numbered_.size() && numbered_[first_numbered_].command == answered_;
    if (!has_number || got.is_error())
        return got;
    auto const& wanted = numbered_[first_numbered_];
    auto const all = got.nodes();
    if (wanted.is_ping)
        return is_number(got.first(), wanted.number) ? std::optional{got} : std::nullopt;
    bool const fits =
        got.first().what == node::kind::list && all.size() > 1 && is_number(all[1], wanted.number);
    return fits ? std::optional{parser_.without_first()} : std::nullopt;
}

bool pipeline::is_answer(message const& push)
{
    if (is_idle())
        return false;
    auto const& first = owed_[first_owed_];
    return first.how == answered_by::push && first.who && first.who->is_answered_by(push);
}

void pipeline::note_answer(owed& first, time_point now) noexcept
{
    if (first.is_first) {
        // A reply that came before its command was written is measured as none.
        auto const sample = std::max(now - first.sent, clock::duration{});
        round_trip_ =
            round_trip_ == clock::duration{} ? sample : round_trip_ + (sample - round_trip_) / 8;
        first.is_first = false;
    }
    if (--first.replies == 0)
        ++first_owed_;
    if (first_numbered_ != numbered_.size() && numbered_[first_numbered_].command == answered_)
        ++first_numbered_;
    if (alone_ && alone_->command == answered_)
        alone_.reset();
    ++answered_;
}

void pipeline::fail(error_code why)
{
    if (failed_)
        return;
    failed_ = why;
    auto const lost = std::move(owed_);
    auto const from = first_owed_;
    owed_.clear();
    first_owed_ = 0;
    for (std::size_t i = from; i != lost.size(); ++i)
        if (lost[i].who)
            lost[i].who->on_lost(why);
}

void pipeline::forget_owed() noexcept
{
    if (!failed_)
        failed_ = error::closed;
    owed_.clear();
    first_owed_ = 0;
    pushes_ = nullptr;
}

// ---- Time --------------------------------------------------------------------------------------

/// The time since when an answer is due and nothing comes.
time_point pipeline::quiet_since() const noexcept
{
    return std::max(owed_[first_owed_].sent, heard_);
}

clock::duration pipeline::loss_limit() const noexcept
{
    return std::max(time_limits_.loss, 3 * round_trip_);
}

time_point pipeline::next_look() const noexcept
{
    return is_idle() || probed_ ? silence_ends_
                                : std::min(silence_ends_, quiet_since() + loss_limit());
}

pipeline::verdict pipeline::look(time_point now)
{
    if (now >= silence_ends_) {
        // The answer to the PING is looked for twice. After a pause of the process or of its event
        // loop, the first look may come before the client has read an answer that has already
        // arrived.
        if (asked_ && std::exchange(looked_, true))
            return verdict::silent;
        silence_ends_ = now + time_limits_.silence / 2;
        if (std::exchange(asked_, true))
            return verdict::fine;
        ping(now);
        return verdict::write;
    }
    if (is_idle() || probed_ || now < quiet_since() + loss_limit())
        return verdict::fine;
    probed_ = true;
    ping(now);
    return verdict::write;
}

void pipeline::ping(time_point now)
{
    write_ping();
    expect(nullptr, now);
}

}  // namespace colock::resp
