#pragma once

#include "base/completion.hpp"
#include "core/core.hpp"
#include <colock/multi_lock.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <utility>

namespace colock {

using detail::lock_group;

/// Asks all parts of a group the same, and combines their answers. It completes as soon as there
/// are enough.
template <class Value>
class group_query final : public operation {
public:
    /// The answers of the parts, the greatest first, and the number of missing ones.
    struct answers {
        std::multiset<Value, std::greater<>> values{};
        std::size_t unanswered;
        std::size_t needed;

        /// The greatest value that enough parts reach. Empty while missing answers can change it.
        std::optional<Value> common() const
        {
            if (values.size() < needed)
                return {};
            auto const least = nth(needed - 1);
            bool const is_settled =
                unanswered == 0 || (unanswered < needed && nth(needed - 1 - unanswered) == least);
            return is_settled ? std::optional<Value>{std::in_place, least} : std::nullopt;
        }

        /// The greatest value, when all have answered.
        std::optional<Value> greatest() const
        {
            bool const is_over = unanswered == 0 && values.size() >= needed;
            return is_over ? std::optional<Value>{std::in_place, nth(0)} : std::nullopt;
        }

        Value nth(std::size_t n) const { return *std::next(values.begin(), std::ptrdiff_t(n)); }
    };
    using combine = std::optional<Value> (answers::*)() const;
    using handler_type = typename completion<Value>::handler_type;

    /// Called in the initiating function. `ask` gets a part and the handler of its answer.
    template <class Ask>
    static void start(
        core_ptr const& inside, handler_type handler, lock_group of, combine together, Ask ask
    )
    {
        auto const self =
            std::make_shared<group_query>(inside, of.parts.size(), of.needed(), together);
        auto const& strand = inside->strand();
        self->listen(strand, handler);
        self->done_ = {std::move(handler), inside->executor()};
        asio::dispatch(strand, [self, of = std::move(of), ask] {
            for (std::size_t i = 0; self->done_ && i != of.parts.size(); ++i)
                ask(of.parts[i], self->expect(i, self->inside_->strand()));
        });
    }

    group_query(core_ptr inside, std::size_t parts, std::size_t needed, combine together)
        : inside_{std::move(inside)}
        , signals_{std::make_unique<asio::cancellation_signal[]>(parts)}
        , parts_{parts}
        , got_{{}, parts, needed}
        , together_{together}
    {}

    void cancel() override { complete(asio::error::operation_aborted, {}); }

private:
    auto expect(std::size_t i, strand_type const& strand)
    {
        auto const self = std::static_pointer_cast<group_query>(shared_from_this());
        return asio::bind_executor(
            strand,
            asio::bind_cancellation_slot(
                signals_[i].slot(),
                [self](error_code ec, Value value) { self->on_answer(ec, std::move(value)); }
            )
        );
    }

    void on_answer(error_code ec, Value value)
    {
        --got_.unanswered;
        if (!ec)
            got_.values.insert(std::move(value));
        else if (!first_)
            first_ = ec;
        if (auto const together = (got_.*together_)())
            complete({}, *together);
        else if (got_.unanswered == 0)
            complete(first_, {});
    }

    void complete(error_code ec, Value value)
    {
        if (!done_)
            return;
        done_(ec, std::move(value));
        for (std::size_t i = 0; i != parts_; ++i)
            signals_[i].emit(asio::cancellation_type::terminal);
    }

    core_ptr inside_;  ///< `listen` relies on it
    std::unique_ptr<asio::cancellation_signal[]> signals_;
    std::size_t parts_;
    answers got_;
    combine together_;
    completion<Value> done_;
    error_code first_;
};

}  // namespace colock
