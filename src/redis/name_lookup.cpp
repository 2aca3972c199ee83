#include "redis/name_lookup.hpp"

#include <boost/asio/error.hpp>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <exception>
#include <map>
#include <mutex>
#include <netdb.h>
#include <sys/eventfd.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace colock {

struct name_lookup::shared_lookup {
    std::mutex lock;
    std::vector<int> waiting;  ///< descriptors to write to; each belongs to its waiter
    error_code failed{};
    std::vector<asio::ip::address> found;
};

struct name_lookup::question {
    std::uint64_t signals = 0;  ///< is read into, perhaps after the lookup itself is gone
    bool is_wanted = true;
};

namespace {

using shared_lookup = name_lookup::shared_lookup;

/// The lookups under way, by name. Never destroyed: a thread may outlive `main`.
struct lookups {
    std::mutex lock;
    std::map<std::string, std::shared_ptr<shared_lookup>> by_name;
    pid_t process = ::getpid();

    /// The lookups of this process: a forked child has none of its parent's threads, but perhaps
    /// their held locks.
    static lookups& all()
    {
        static std::atomic<lookups*> current{nullptr};
        auto* known = current.load();
        if (known && known->process == ::getpid())
            return *known;
        auto fresh = std::make_unique<lookups>();
        return current.compare_exchange_strong(known, fresh.get()) ? *fresh.release() : *known;
    }
};

error_code error_of(int code)
{
    switch (code) {
    case EAI_SYSTEM: return {errno, boost::system::system_category()};
    case EAI_AGAIN: return asio::error::host_not_found_try_again;
    case EAI_FAIL: return asio::error::no_recovery;
    case EAI_MEMORY: return asio::error::no_memory;
    default: return asio::error::host_not_found;
    }
}

error_code look_up(std::string const& host, std::vector<asio::ip::address>& found)
{
    addrinfo wanted{};
    wanted.ai_family = AF_UNSPEC;
    wanted.ai_socktype = SOCK_STREAM;
    addrinfo* list = nullptr;
    if (int const code = ::getaddrinfo(host.c_str(), nullptr, &wanted, &list); code != 0)
        return error_of(code);
    for (auto const* each = list; each; each = each->ai_next) {
        asio::ip::address next;
        if (each->ai_family == AF_INET) {
            auto const* const v4 = reinterpret_cast<sockaddr_in const*>(each->ai_addr);
            next = asio::ip::address_v4{ntohl(v4->sin_addr.s_addr)};
        } else if (each->ai_family == AF_INET6) {
            auto const* const v6 = reinterpret_cast<sockaddr_in6 const*>(each->ai_addr);
            asio::ip::address_v6::bytes_type bytes;
            std::copy_n(v6->sin6_addr.s6_addr, bytes.size(), bytes.begin());
            next = asio::ip::address_v6{bytes, v6->sin6_scope_id};
        } else
            continue;
        if (std::ranges::find(found, next) == found.end())
            found.push_back(next);
    }
    ::freeaddrinfo(list);
    return found.empty() ? error_code{asio::error::host_not_found} : error_code{};
}

void run_lookup(std::string const& host, shared_lookup& result)
{
    std::vector<asio::ip::address> found;
    auto const failed = look_up(host, found);
    {
        std::lock_guard const all_locked{lookups::all().lock};
        lookups::all().by_name.erase(host);
    }
    std::lock_guard const locked{result.lock};
    result.failed = failed;
    result.found = std::move(found);
    std::uint64_t const one = 1;
    for (int const waiting : result.waiting)
        static_cast<void>(::write(waiting, &one, sizeof one));
}

/// Joins the lookup of this name, or begins one. Fails if no thread could be started.
error_code join(std::string const& host, int signal, std::shared_ptr<shared_lookup>& joined)
{
    auto& all = lookups::all();
    std::lock_guard const locked{all.lock};
    auto& known = all.by_name[host];
    bool const is_new = !known;
    if (is_new)
        known = std::make_shared<shared_lookup>();
    joined = known;
    {
        std::lock_guard const mine{joined->lock};
        joined->waiting.push_back(signal);
    }
    if (!is_new)
        return {};
    try {
        std::thread{[host, result = joined] { run_lookup(host, *result); }}.detach();
        return {};
    } catch (std::exception const&) {
        all.by_name.erase(host);
        return asio::error::no_memory;
    }
}

}  // namespace

name_lookup::name_lookup(strand_type const& strand) : signal_{strand} {}

name_lookup::~name_lookup() { cancel(); }

void name_lookup::start(std::string const& host, std::uint16_t port, on_found done)
{
    cancel();
    port_ = port;
    int const signal = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (signal < 0)
        return done({errno, boost::system::system_category()}, {});
    error_code unwatched;
    signal_.assign(signal, unwatched);
    if (unwatched) {
        ::close(signal);
        return done(unwatched, {});
    }
    if (auto const ec = join(host, signal, lookup_)) {
        cancel();
        return done(ec, {});
    }
    done_ = std::move(done);
    asked_ = std::make_shared<question>();
    // Reads, and does not only wait: the reactor may report an event of a descriptor that was
    // closed just before, and only a read finds out that there is nothing.
    auto const into = asio::buffer(&asked_->signals, sizeof asked_->signals);
    signal_.async_read_some(into, [this, asked = asked_](error_code, std::size_t) {
        if (asked->is_wanted)
            finish();
    });
}

void name_lookup::finish()
{
    auto const looked = lookup_;
    auto const done = std::exchange(done_, nullptr);
    auto const port = port_;
    cancel();
    endpoints found;
    error_code failed;
    {
        std::lock_guard const locked{looked->lock};
        failed = looked->failed;
        for (auto const& each : looked->found)
            found.emplace_back(each, port);
    }
    done(failed, found);  // may destroy this
}

void name_lookup::cancel() noexcept
{
    if (asked_)
        asked_->is_wanted = false;
    if (auto const looked = std::exchange(lookup_, nullptr)) {
        std::lock_guard const locked{looked->lock};
        std::erase(looked->waiting, signal_.native_handle());
    }
    error_code ignored;
    signal_.close(ignored);
}

}  // namespace colock
