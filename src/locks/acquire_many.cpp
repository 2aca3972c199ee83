#include "base/completion.hpp"
#include "core/arguments.hpp"
#include "core/core.hpp"
#include "core/in_portions.hpp"
#include "core/with_words.hpp"
#include "decide/validity.hpp"
#include "locks/group_acquire.hpp"
#include <colock/acquire_many.hpp>
#include <colock/lock.hpp>

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/system_executor.hpp>

#include <algorithm>
#include <memory>
#include <string_view>
#include <utility>

namespace colock {

namespace {

failure check_many(lock_group const& of, acquire_many_options const& options)
{
    bool const may_wait = options.take == many::all;
    if (options.wait && (!may_wait || *options.wait < milliseconds{0}))
        return error::invalid_argument;
    if (of.parts.size() > most_names)
        return error::invalid_argument;
    std::vector<std::string_view> names;
    names.reserve(of.parts.size());
    for (auto const& part : of.parts)
        names.push_back(part.id.name);
    std::ranges::sort(names);
    if (std::ranges::adjacent_find(names) != names.end())
        return error::invalid_argument;
    return check(of, options.with);
}

/// The releases of several holds, until all have been answered.
class release_of_many final : public operation {
public:
    explicit release_of_many(core_ptr inside) : inside_{std::move(inside)} {}

    completion<> done;

    void cancel() override { complete(asio::error::operation_aborted); }
    void start(std::shared_ptr<detail::many_holds> const& all)
    {
        auto const self = std::static_pointer_cast<release_of_many>(shared_from_this());
        unanswered_ = all->holds.size();
        // A client that is destroyed meanwhile releases all before it ends.
        auto const owed = std::make_shared<core::activity>(*inside_);
        auto const release = [self, all, owed](std::size_t i) {
            all->holds[i].release(with_words(self->inside_->strand(), [self](failure const& why) {
                self->on_answer(why);
            }));
        };
        auto const in_a_turn = portion(inside_->settings());
        in_portions(inside_->strand(), unanswered_, in_a_turn, release, [] {});
    }

private:
    // A loss says more than a failed release.
    void on_answer(failure ec)
    {
        if (ec && (!first_ || ec == error::lost))
            first_ = ec;
        if (--unanswered_ == 0)
            complete(first_);
    }
    void complete(failure ec)
    {
        if (done)
            done(ec);
    }

    core_ptr inside_;
    std::size_t unanswered_ = 0;
    failure first_{};
};

}  // namespace

void detail::acquire_many(
    core_ptr inside,
    handler<acquired_many> to,
    std::vector<std::string> names,
    acquire_many_options options
)
{
    lock_group of;
    if (!names.empty())
        of.name = names.front();
    for (auto& name : names)
        of.parts.push_back({inside, {std::move(name)}});
    auto const wrong = check_many(of, options);
    auto const& strand = inside->strand();
    auto const who = std::make_shared<group_acquire>(inside, std::move(of), options.with);
    who->listen(strand, to);
    who->done = completion<held_locks>{std::move(to), inside->executor()};
    who->takes_free = options.take == many::free;
    who->once = options.wait == milliseconds{0};
    if (options.wait && !who->once)
        who->wait = std::min(*options.wait, decide::longest_lease);
    asio::dispatch(strand, [who, wrong] {
        if (wrong)
            std::get<completion<held_locks>>(who->done)(wrong, {});
        else
            who->start();
    });
}

std::size_t held_locks::held() const noexcept
{
    return static_cast<std::size_t>(std::ranges::count_if(all_, [](hold const& each) {
        return bool{each};
    }));
}

detail::core_ptr held_locks::first_client() const noexcept
{
    for (auto const& each : all_)
        if (auto const& state = detail::state_of(each))
            return detail::core_of(state);
    return {};
}

void held_locks::release_all(
    detail::core_ptr inside, detail::handler<detail::finished> to, shared_holds all
)
{
    all = std::make_shared<detail::many_holds>(std::exchange(*all, {}));
    // An empty place is one that somebody else has, or whose hold was moved out.
    std::erase_if(all->holds, [](hold const& each) { return !detail::state_of(each); });
    if (all->holds.empty())
        return completion<>{std::move(to), detail::executor_of(inside)}({});
    auto const& strand = inside->strand();
    auto const who = std::make_shared<release_of_many>(inside);
    who->listen(strand, to);
    who->done = {std::move(to), inside->executor()};
    asio::dispatch(strand, [who, all = std::move(all)] { who->start(all); });
}

}  // namespace colock
