#pragma once

#include "base/completion.hpp"
#include "decide/agenda.hpp"
#include "decide/names.hpp"
#include "redis/transport.hpp"
#include "service/core.hpp"

#include <functional>
#include <memory>
#include <string>
#include <utility>

namespace colock {

/// A question to the server: one script on one key, one answer, within `config::timeout`. What only
/// reads is asked again after a lost answer; what takes a lock away is not, for the next time it
/// would be another's.
template <class Value>
class query final : public operation {
public:
    /// Reads the reply, or says what is wrong with it.
    using reader = std::function<error_code(answer const&, Value&)>;
    using handler_type = typename completion<Value>::handler_type;

    /// Called where the operation is initiated. `argument` and the second key: none if empty.
    static void start(
        core_ptr inside,
        handler_type handler,
        error_code wrong,
        std::string name,
        scripts::script const& what,
        std::string argument,
        reader read,
        std::string const& second_key = {}
    )
    {
        auto const self = std::make_shared<query>(
            std::move(inside), std::move(name), what, std::move(argument), std::move(read)
        );
        self->second_key_ = second_key;
        auto const& strand = self->inside_->strand();
        self->listen(strand, handler);
        self->done_ = {std::move(handler), self->inside_->executor()};
        asio::dispatch(strand, [self, wrong] {
            if (auto const ec = wrong ? wrong : self->inside_->refusal())
                self->finish(ec, {});
            else
                ask(self);
        });
    }

    query(
        core_ptr inside,
        std::string name,
        scripts::script const& what,
        std::string argument,
        reader read
    )
        : inside_{std::move(inside)}
        , name_{std::move(name)}
        , slot_{decide::slot_of(name_)}
        , what_{what}
        , argument_{std::move(argument)}
        , read_{std::move(read)}
        , limit_{[this] {
            auto const why = inside_->transport().down_reason(slot_);
            finish(why ? why : error_code{error::unavailable}, {});
        }}
    {}

    void cancel() override { finish(asio::error::operation_aborted, {}); }

private:
    static sequence ask(std::shared_ptr<query> self)
    {
        core& owner = *self->inside_;
        owner.set_alarm(self->limit_, clock::now() + owner.settings().timeout);
        while (self->done_) {
            std::string_view const keys[]{self->name_, self->second_key_};
            std::string_view const arguments[]{self->argument_};
            step s{
                self->what_,
                self->slot_,
                std::span{keys}.first(self->second_key_.empty() ? 1 : 2),
                std::span{arguments}.first(self->argument_.empty() ? 0 : 1)};
            self->sending_ = &s;
            owner.transport().submit(s);
            answer const got = co_await s.answered;
            self->sending_ = nullptr;
            if (self->take(got)) {
                owner.rest(self->pause_, milliseconds{20});
                co_await self->pause_.over;
                if (owner.is_stopped())
                    self->finish(error::closed, {});
            }
        }
    }

    /// True if it is to be asked again after a pause.
    bool take(answer const& got)
    {
        if (inside_->is_stopped())
            finish(error::closed, {});
        else if (got.what == answer::kind::lost && &what_ == &scripts::force)
            finish(error::unavailable, {});
        else if (got.what == answer::kind::failed)
            finish(got.ec, {});
        else if (got.what == answer::kind::replied) {
            Value value{};
            auto const ec = read_(got, value);
            finish(ec, std::move(value));
        }
        return done_ && got.what == answer::kind::not_now;
    }

    void finish(error_code ec, Value value)
    {
        auto const life = shared_from_this();
        limit_.clear();
        if (done_)
            done_(ec, std::move(value));
        if (sending_ && inside_->transport().withdraw(*sending_))
            std::exchange(sending_, nullptr)->answered.set({});
    }

    core_ptr inside_;
    completion<Value> done_;
    std::string name_;
    std::string second_key_;
    unsigned slot_;
    scripts::script const& what_;
    std::string argument_;
    reader read_;
    step* sending_ = nullptr;
    decide::agenda::entry limit_;
    pause pause_;
};

}  // namespace colock
