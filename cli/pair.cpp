// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
// colock acquire, release: a lock that one command takes and another one gives back.
#include "commands.hpp"
#include "session.hpp"
#include "status.hpp"
#include "taking.hpp"
#include "text.hpp"
#include <colock/claim.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/signal_set.hpp>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <unistd.h>
#include <utility>

namespace cli {

namespace {

/// A claim lets anybody take the lock over, so only the owner may read the file.
constexpr mode_t for_the_owner = S_IRUSR | S_IWUSR;

/// A claim's text has a name of 10,000 bytes at most, and little more.
constexpr std::size_t longest_claim = 12'000;

/// A file, or one of the standard streams, which stay open.
class claim_file {
public:
    /// \throws failure
    claim_file(options const& o, int flags, int otherwise)
        : is_own_{!o.claim_file.empty()}
        , name_{is_own_                       ? shown(o.claim_file)
                : otherwise == STDIN_FILENO ? "standard input"
                                            : "standard output"}
        , descriptor_{
              is_own_ ? ::open(o.claim_file.c_str(), flags | O_CLOEXEC, for_the_owner) : otherwise}
    {
        if (descriptor_ < 0)
            throw because("open");
    }
    claim_file(claim_file const&) = delete;
    claim_file& operator=(claim_file const&) = delete;
    ~claim_file()
    {
        if (is_own_)
            ::close(descriptor_);
    }

    std::string const& name() const noexcept { return name_; }

    /// In place of what the file had before. False if not all of it was written.
    bool write(std::string_view text) const noexcept
    {
        if (is_own_ && ::ftruncate(descriptor_, 0) != 0)
            return false;
        while (!text.empty()) {
            auto const n = ::write(descriptor_, text.data(), text.size());
            if (n < 0 && errno == EINTR)
                continue;
            if (n <= 0)
                return false;
            text.remove_prefix(static_cast<std::size_t>(n));
        }
        return !is_own_ || ::fsync(descriptor_) == 0;
    }

    /// \throws failure
    std::string read() const
    {
        std::string text;
        char some[4'096];
        while (text.size() <= longest_claim) {
            auto const n = ::read(descriptor_, some, sizeof some);
            if (n < 0 && errno == EINTR)
                continue;
            if (n < 0)
                throw because("read");
            if (n == 0)
                break;
            text.append(some, static_cast<std::size_t>(n));
        }
        return text.substr(0, text.find('\n'));
    }

    failure because(std::string const& doing) const
    {
        return {
            status_cannot_use_file, doing + " the claim in " + name_ + ": " + std::strerror(errno)};
    }

private:
    bool is_own_;
    std::string name_;
    int descriptor_;
};

asio::awaitable<void> give_back(session& s, colock::claim const& what)
{
    auto adopting = s.redis().adopt(what, asio::as_tuple(asio::deferred));
    auto [ec, held] = co_await std::move(adopting);
    if (!ec)
        std::tie(ec) = co_await held.release(asio::as_tuple(asio::deferred));
    if (ec == colock::error::claim_gone || ec == colock::error::lost)
        throw failure{
            status_lost,
            shown(what.name) +
                ": release: the lock was not this claim's any more: its lease ended, or "
                "somebody took it; others may have had it meanwhile"};
    if (ec)
        throw s.because("release", ec);
}

/// The lock of the command line. \throws failure
asio::awaitable<colock::hold> take_or_fail(
    session& s, options const& o, asio::cancellation_signal& stop
)
{
    co_await s.connect();
    auto got = co_await take(s.redis(), o, stop.slot());
    if (got.held)
        co_return std::move(*got.held);
    auto const wait = o.wait.value_or(milliseconds{0});
    if (got.ec)
        throw s.because(
            wait == milliseconds{0} ? "acquire" : "wait for the lock for " + shown(wait), got.ec
        );
    throw failure{status_conflict, shown(o.key) + ": " + said_of_conflict(o)};
}

asio::awaitable<int> take_and_give(session& s, options const& o, claim_file const& to)
{
    int ended_by = 0;
    asio::cancellation_signal stop;
    asio::signal_set ending{s.context(), SIGINT, SIGTERM, SIGHUP};
    ending.async_wait([&](error_code ec, int number) {
        if (ec)
            return;
        ended_by = number;
        stop.emit(asio::cancellation_type::terminal);
    });
    colock::hold held;
    std::exception_ptr failed;
    try {
        held = co_await take_or_fail(s, o, stop);
    } catch (failure const&) {
        failed = std::current_exception();
    }
    if (ended_by != 0) {
        co_await held.release(asio::as_tuple(asio::deferred));
        co_return status_signal + ended_by;
    }
    if (failed)
        std::rethrow_exception(failed);
    auto giving = held.give(asio::as_tuple(asio::deferred));
    auto const [ec, what] = co_await std::move(giving);
    if (ec)
        throw s.because("give", ec);
    if (to.write(what.to_string() + '\n'))
        co_return status_ok;
    auto const why = to.because("write");
    co_await give_back(s, what);  // nobody else could
    throw why;
}

asio::awaitable<int> release_claim(session& s, colock::claim const& what)
{
    co_await s.connect();
    co_await give_back(s, what);
    co_return status_ok;
}

}  // namespace

int acquire(options const& o)
{
    // Opened before the lock is taken, and overwritten after: an older claim in it may be good
    // still.
    claim_file const to{o, O_WRONLY | O_CREAT, STDOUT_FILENO};
    auto settings = settings_of(o);
    settings.lease = *o.lease;
    settings.max_tenure = milliseconds{0};
    session s{o, std::move(settings)};
    return s.run(take_and_give(s, o, to));
}

int release(options const& o)
{
    claim_file const from{o, O_RDONLY, STDIN_FILENO};
    auto const text = from.read();
    if (text.empty())
        throw failure{status_no, from.name() + " is empty: no lock was taken, so none is released"};
    auto const what = colock::claim::parse(text);
    if (!what)
        throw failure{
            status_no_lock, from.name() + " has no claim: it is what 'colock acquire' has written"};
    session s{o, settings_of(o)};
    auto const status = s.run(release_claim(s, *what));
    if (!o.claim_file.empty())
        ::unlink(o.claim_file.c_str());  // it is worth nothing any more
    return status;
}

}  // namespace cli
