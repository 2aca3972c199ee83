// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "support/any_kind.hpp"
#include "support/as_hold.hpp"
#include "support/cancel_after.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/deferred.hpp>

#include <utility>

namespace colock::test {

namespace {

constexpr auto tuple = asio::as_tuple(asio::deferred);

template <class Lock>
asio::awaitable<taken> take_hold(Lock what, manner how)
{
    if (!how.wait) {
        auto [ec, held] = co_await what.acquire(how.options, asio::cancel_after(how.cancel, tuple));
        co_return taken{ec, as_hold(std::move(held))};
    }
    auto [ec, held] = co_await what.try_acquire_for(
        *how.wait, how.options, asio::cancel_after(how.cancel, tuple)
    );
    if (!held)
        co_return taken{ec};
    co_return taken{ec, as_hold(std::move(*held))};
}

asio::awaitable<taken> take_permit(semaphore what, manner how)
{
    if (!how.wait) {
        auto const [ec] = co_await what.acquire(asio::cancel_after(how.cancel, tuple));
        if (ec)
            co_return taken{ec};
        co_return taken{ec, what};
    }
    auto const [ec, got] =
        co_await what.try_acquire_for(*how.wait, asio::cancel_after(how.cancel, tuple));
    if (!got)
        co_return taken{ec};
    co_return taken{ec, what};
}

asio::awaitable<taken> wait_for(countdown_latch what, manner how)
{
    if (!how.wait) {
        auto const [ec] = co_await what.wait(asio::cancel_after(how.cancel, tuple));
        co_return taken{ec};
    }
    auto const [ec, open] =
        co_await what.wait_for(*how.wait, asio::cancel_after(how.cancel, tuple));
    co_return taken{ec};
}

asio::awaitable<taken> take_several(client const& at, kind of, std::string const& name, manner how)
{
    lock const first{at, name};
    if (of == kind::red)
        return take_hold(red_lock{first, lock{at, name + ":b"}, lock{at, name + ":c"}}, how);
    return take_hold(
        multi_lock{first, spin_lock{at, name + ":b"}, lock{at, "{" + name + "}c"}}, how
    );
}

}  // namespace

std::string_view name_of(kind of) noexcept
{
    static constexpr std::array<std::string_view, all_kinds.size()> names{
        "lock",
        "fair",
        "read",
        "write",
        "spin",
        "fenced",
        "multi",
        "red",
        "semaphore",
        "permits",
        "latch"};
    return names.at(static_cast<std::size_t>(of));
}

bool is_exclusive(kind of) noexcept
{
    return of != kind::read && of != kind::semaphore && of != kind::permits && of != kind::latch;
}

taken::taken(taken&& other) noexcept
    : ec_{other.ec_}
    , held_{std::move(other.held_)}
    , given_{std::exchange(other.given_, false)}
    , one_of_{std::exchange(other.one_of_, {})}
{}

asio::awaitable<error_code> taken::give_back()
{
    if (auto const from = std::exchange(one_of_, {})) {
        auto const [ec] = co_await from->release(tuple);
        co_return ec;
    }
    given_ = false;
    auto const [ec] = co_await held_.release(tuple);
    co_return ec;
}

void taken::drop() noexcept
{
    if (auto const from = std::exchange(one_of_, {}))
        from->release([](error_code) {});
    given_ = false;
    held_ = {};
}

asio::awaitable<taken> take(client const& at, kind of, std::string name, manner how)
{
    switch (of) {
    case kind::plain: return take_hold(lock{at, std::move(name)}, how);
    case kind::fair: return take_hold(fair_lock{at, std::move(name)}, how);
    case kind::read: return take_hold(read_write_lock{at, std::move(name)}.read(), how);
    case kind::write: return take_hold(read_write_lock{at, std::move(name)}.write(), how);
    case kind::spin: return take_hold(spin_lock{at, std::move(name), backoff{1ms, 10ms, 2}}, how);
    case kind::fenced: return take_hold(fenced_lock{at, std::move(name)}, how);
    case kind::semaphore: return take_permit(semaphore{at, std::move(name)}, how);
    case kind::permits: return take_hold(permit_semaphore{at, std::move(name)}, how);
    case kind::latch: return wait_for(countdown_latch{at, std::move(name)}, how);
    case kind::multi:
    case kind::red: break;
    }
    return take_several(at, of, name, how);
}

asio::awaitable<error_code> make(client const& at, kind of, std::string name, int permits)
{
    error_code result;
    if (of == kind::semaphore) {
        semaphore const it{at, std::move(name)};
        auto const [ec, made] = co_await it.try_set_permits(permits, tuple);
        result = ec;
    } else if (of == kind::permits) {
        permit_semaphore const it{at, std::move(name)};
        auto const [ec, made] = co_await it.try_set_permits(permits, tuple);
        result = ec;
    } else if (of == kind::latch) {
        countdown_latch const it{at, std::move(name)};
        auto const [ec, made] = co_await it.try_set_count(permits, tuple);
        result = ec;
    }
    co_return result;
}

asio::awaitable<std::int64_t> left_of(client const& at, kind of, std::string name)
{
    if (of == kind::permits) {
        permit_semaphore const it{at, std::move(name)};
        co_return co_await it.available();
    }
    semaphore const it{at, std::move(name)};
    co_return co_await it.available();
}

}  // namespace colock::test
