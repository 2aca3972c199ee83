#include "decide/validity.hpp"
#include "locks/gathering.hpp"
#include "service/bundle.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>

#include <algorithm>
#include <numeric>
#include <ranges>
#include <span>
#include <tuple>
#include <utility>

namespace colock {

namespace {

using operations = detail::lock_operations<lock_id>;

/// Who has given everything back comes again after this, and up to as much more by chance.
constexpr milliseconds shortest_pause{50};
constexpr milliseconds more_pause{100};

/// Asking again does not help.
bool is_final(error_code ec) noexcept
{
    return ec == error::invalid_argument || ec == error::wrong_type ||
        ec == error::server_refused || ec == error::closed || ec == error::lost;
}

bool is_any(error_code ec) noexcept { return bool{ec}; }

}  // namespace

gathering::gathering(core_ptr inside, lock_group of, acquire_options options)
    : inside_{std::move(inside)}
    , of_{std::move(of)}
    , options_{options}
    , requests_{std::make_unique<request[]>(of_.parts.size())}
    , limit_{[this] { cancel_unanswered(); }}
{
    // One owner for all: a lock may be among them twice.
    if (!options_.as)
        options_.as = owner{};
}

void gathering::start()
{
    if (auto const ec = inside_->refusal())
        return fail(ec);
    if (cancelled_)
        return fail(asio::error::operation_aborted);
    if (wait)
        deadline_ = clock::now() + *wait;
    if (of_.by_majority)
        take_most();
    else
        take_all();
}

void gathering::cancel()
{
    cancelled_ = true;
    cancel_unanswered();
    if (pause_.is_linked()) {
        pause_.unlink();
        pause_.alarm.clear();
        pause_.over.set(true);
    }
}

// ---- All ---------------------------------------------------------------------------------------

// At once first. Who is refused takes one after the other, in an order that all keep: so nobody
// waits for a lock while he holds one that comes after it.
sequence gathering::take_all()
{
    auto const size = of_.parts.size();
    ask_all();
    co_await round_over_;
    if (count_got() != size && !once && !is_over() && !cancelled_) {
        auto const order = in_order();
        auto const refused =
            std::ranges::find_if(order, [this](std::size_t i) { return !requests_[i].got; });
        for (auto const i : std::ranges::subrange{refused, order.end()})
            requests_[i].got.reset();
        for (auto const i : std::ranges::subrange{refused, order.end()}) {
            ask_in_turn(i);
            co_await round_over_;
            if (!requests_[i].got)
                break;
        }
        if (count_got() == size && options_.lease) {
            extend_all();  // those that were taken first have waited for the last
            co_await round_over_;
        }
    }
    if (cancelled_)
        fail(asio::error::operation_aborted);
    else if (count_got() == size && !first_error())
        grant();
    else
        fail(first_error());
}

std::vector<std::size_t> gathering::in_order() const
{
    std::vector<std::size_t> order(of_.parts.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    auto const place = [this](std::size_t i) {
        auto const& [where, id] = of_.parts[i];
        auto const& server = where->settings().addresses.front();
        return std::tuple{
            server.host, server.port, server.unix_socket, id.name, id.kind, where.get()};
    };
    std::ranges::stable_sort(order, {}, place);
    return order;
}

// ---- Most --------------------------------------------------------------------------------------

sequence gathering::take_most()
{
    // While it rests nobody else holds it; while it asks, the parts do.
    std::shared_ptr<operation> life;
    while (true) {
        auto const sent = clock::now();
        ask_all();
        life.reset();
        inside_->set_alarm(limit_, sent + server_limit());
        co_await round_over_;
        limit_.clear();
        if (cancelled_)
            break;
        if (has_quorum()) {
            grant();
            co_return;
        }
        give_back();
        auto const spare = of_.parts.size() - of_.needed();
        if (count_failed(&is_final) > spare) {
            fail(first_error());
            co_return;
        }
        if (once || is_over()) {
            bool const unheard = once && count_failed(&is_any) > spare;
            fail(unheard ? error_code{error::no_quorum} : error_code{});
            co_return;
        }
        life = shared_from_this();
        inside_->rest(pause_, pause_before_next());
        co_await pause_.over;
        if (inside_->is_stopped())
            break;
    }
    fail(cancelled_ ? error_code{asio::error::operation_aborted} : error_code{error::closed});
}

// At most to the caller's limit: then there is a last try.
milliseconds gathering::pause_before_next()
{
    auto const more = std::chrono::ceil<milliseconds>(more_pause * inside_->dice());
    return std::min(shortest_pause + more, time_left().value_or(milliseconds::max()));
}

milliseconds gathering::server_limit() const noexcept
{
    auto const lease = options_.lease.value_or(inside_->settings().lease);
    return of_.server_limit.value_or(std::clamp(lease / 20, milliseconds{20}, milliseconds{1'000}));
}

// Most of the time must be left to work in, as for a single lock.
bool gathering::has_quorum() const noexcept
{
    auto const now = clock::now();
    auto const lease = options_.lease.value_or(inside_->settings().lease);
    auto const parts = std::span{requests_.get(), of_.parts.size()};
    auto const fresh = std::ranges::count_if(parts, [&](request const& r) {
        return r.got && r.got->valid_until() - now >= (lease - decide::drift(lease)) / 2;
    });
    return static_cast<std::size_t>(fresh) >= of_.needed();
}

// ---- The parts ---------------------------------------------------------------------------------

template <class Start>
void gathering::ask(std::size_t i, Start start)
{
    auto& r = requests_[i];
    r.answered = false;
    r.ec = {};
    ++unanswered_;
    auto const self = std::static_pointer_cast<gathering>(shared_from_this());
    start(
        of_.parts[i],
        asio::bind_executor(
            inside_->strand(),
            asio::bind_cancellation_slot(
                r.signal.slot(),
                [self, i](error_code ec, std::optional<hold> got) {
                    self->take_in(i, ec, std::move(got));
                }
            )
        )
    );
}

void gathering::ask_all()
{
    for (std::size_t i = 0; i != of_.parts.size(); ++i)
        ask(i, [this](lock_group::part const& part, auto handler) {
            operations::try_acquire(part.where, std::move(handler), part.id, options_);
        });
    if (cancelled_)
        cancel_unanswered();
}

void gathering::ask_in_turn(std::size_t i)
{
    ask(i, [this](lock_group::part const& part, auto handler) {
        auto const left = time_left().value_or(decide::longest_lease);
        operations::try_acquire_for(part.where, std::move(handler), part.id, left, options_);
    });
    if (cancelled_)
        cancel_unanswered();
}

void gathering::extend_all()
{
    for (std::size_t i = 0; i != of_.parts.size(); ++i)
        ask(i, [this, i](lock_group::part const&, auto handler) {
            requests_[i].got->extend(
                *options_.lease,
                asio::bind_executor(
                    inside_->strand(),
                    [handler = std::move(handler), this, i](error_code ec) mutable {
                        handler(ec, std::move(requests_[i].got));
                    }
                )
            );
        });
}

void gathering::take_in(std::size_t i, error_code ec, std::optional<hold> got)
{
    auto& r = requests_[i];
    r.answered = true;
    r.ec = ec;
    r.got = std::move(got);
    if (--unanswered_ == 0)
        round_over_.set(true);
}

void gathering::cancel_unanswered()
{
    for (auto& r : std::span{requests_.get(), of_.parts.size()})
        if (!r.answered)
            r.signal.emit(asio::cancellation_type::terminal);
}

// In the background: a hold that is dropped is released.
void gathering::give_back()
{
    for (auto& r : std::span{requests_.get(), of_.parts.size()})
        r.got.reset();
}

std::size_t gathering::count_got() const noexcept
{
    auto const parts = std::span{requests_.get(), of_.parts.size()};
    return static_cast<std::size_t>(std::ranges::count_if(parts, [](request const& r) {
        return r.got && bool{*r.got};
    }));
}

std::size_t gathering::count_failed(bool (*as)(error_code) noexcept) const noexcept
{
    auto const parts = std::span{requests_.get(), of_.parts.size()};
    return static_cast<std::size_t>(std::ranges::count_if(parts, [as](request const& r) {
        return as(r.ec);
    }));
}

error_code gathering::first_error() const noexcept
{
    for (auto const& r : std::span{requests_.get(), of_.parts.size()})
        if (r.ec)  // cancelled by us: it has not answered in time
            return r.ec == asio::error::operation_aborted ? error_code{error::unavailable} : r.ec;
    return {};
}

std::optional<milliseconds> gathering::time_left() const noexcept
{
    if (deadline_ == never)
        return {};
    auto const left = std::chrono::ceil<milliseconds>(deadline_ - clock::now());
    return std::max(left, milliseconds{0});
}

bool gathering::is_over() const noexcept { return clock::now() >= deadline_; }

// ---- The end -----------------------------------------------------------------------------------

void gathering::grant()
{
    std::vector<hold> parts;
    for (auto& r : std::span{requests_.get(), of_.parts.size()})
        parts.push_back(r.got ? std::move(*r.got) : hold{});
    auto const all = std::make_shared<bundle>(*inside_, std::move(parts), of_.needed());
    auto const lease = options_.lease.value_or(inside_->settings().lease);
    auto whole = all->begin(inside_, *options_.as, lease, !options_.lease);
    std::visit([&](auto& c) { c(error_code{}, detail::make_hold(std::move(whole))); }, done);
}

void gathering::fail(error_code ec)
{
    give_back();
    std::visit([&](auto& c) { c(ec, {}); }, done);
}

}  // namespace colock
