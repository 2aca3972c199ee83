#pragma once

#include "base/completion.hpp"
#include "base/recycling.hpp"
#include "core/core.hpp"
#include "core/reliable.hpp"
#include "core/script_call.hpp"
#include "decide/alarm_queue.hpp"
#include "decide/names.hpp"
#include "redis/any_command.hpp"
#include "redis/transport.hpp"

#include <functional>
#include <memory>
#include <utility>

namespace colock {

/// Reads a number.
template <class Number>
failure read_number(answer const& got, Number& number) noexcept
{
    number = static_cast<Number>(got.value.number);
    bool const is_number = got.value.what == decide::reply::kind::integer;
    return is_number ? failure{} : failure{error::bad_reply};
}

/// A query to the server: one script, one answer, within `config::timeout`. Read-only scripts are
/// retried after a lost answer. Force-release is not: by then another owner may hold the lock.
template <class Value>
class query final : public operation {
public:
    /// Reads the reply, or says what is wrong with it.
    using reader = std::function<failure(answer const&, Value&)>;
    using handler_type = typename completion<Value>::handler_type;

    /// Called in the initiating function.
    static void start(
        core_ptr inside,
        handler_type handler,
        failure wrong,
        script_call::request about,
        reader read
    )
    {
        auto const self =
            make_recycled<query>(std::move(inside), std::move(about), std::move(read));
        auto const& strand = self->inside_->strand();
        self->listen(strand, handler);
        self->done_ = {std::move(handler), self->inside_->executor()};
        asio::dispatch(strand, [self, wrong] {
            if (auto const ec = wrong ? wrong : self->inside_->enter())
                self->complete(ec, {});
            else
                ask(self);
        });
    }

    query(core_ptr inside, script_call::request about, reader read)
        : inside_{std::move(inside)}
        , about_{std::move(about)}
        , slot_{decide::slot_of(about_.keys.front())}
        , read_{std::move(read)}
        , limit_{[this] {
            auto const why = inside_->transport().down_reason(slot_);
            complete(why ? why : failure{error::unavailable}, {});
        }}
    {}

    void cancel() override { complete(asio::error::operation_aborted, {}); }

private:
    static strand_task ask(std::shared_ptr<query> self)
    {
        core& owner = *self->inside_;
        core::activity const asking{owner, self->kind()};
        owner.set_alarm(self->limit_, clock::now() + owner.settings().timeout);
        reliable::terms const how{.idempotent = !self->about_.once};
        answer got;
        do {
            script_call now{self->about_, self->slot_};
            if (!self->about_.wants.is_none())
                owner.ask_copies(now.call, self->about_.wants, owner.settings().lease);
            got = co_await self->sending_.send(now.call);
        } while (co_await self->sending_.repeats(got, how) && self->done_);
        self->conclude(got);
    }

    /// A script that only reads leaves nothing at the server; nor does a command that is asked so.
    core::activity::kind kind() const noexcept
    {
        auto const* const what = about_.what;
        bool const only_reads = what == &scripts::inspect || what == &scripts::count ||
            what == &scripts::leader_read || what == &scripts::permit_count ||
            what == &ping_command || what == &any_command;
        return only_reads ? core::activity::kind::asks : core::activity::kind::owes;
    }

    void conclude(answer const& got)
    {
        if (got.what != answer::kind::replied)
            return complete(why_unanswered(got, inside_->is_stopped()), {});
        Value value{};
        auto const ec = inside_->is_stopped() ? failure{error::closed} : read_(got, value);
        complete(ec ? ec : got.unsynced, std::move(value));
    }

    void complete(failure ec, Value value)
    {
        auto const life = shared_from_this();
        limit_.clear();
        if (done_)
            done_(ec, std::move(value));
        sending_.withdraw();
    }

    core_ptr inside_;
    completion<Value> done_;
    script_call::request about_;
    unsigned slot_;
    reader read_;
    reliable sending_{*inside_};
    decide::alarm_queue::alarm limit_;
};

}  // namespace colock
