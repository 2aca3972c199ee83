#include "redis/name_lookup.hpp"
#include "system/process.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

namespace colock {

/// The result of a thread. It is complete, and does not change, once it is over.
struct name_lookup::shared_lookup {
    std::atomic<bool> is_over{false};
    error_code failed{};
    std::vector<asio::ip::address> found;
};

namespace {

using shared_lookup = name_lookup::shared_lookup;

/// The lookups under way, by name. Never destroyed: a thread may outlive `main`.
struct lookups {
    std::mutex lock;
    std::map<std::string, std::shared_ptr<shared_lookup>> by_name;
    int process = process_id();

    /// The lookups of this process: a forked child has none of its parent's threads, but perhaps
    /// their held locks.
    static lookups& all()
    {
        static std::atomic<lookups*> current{nullptr};
        auto* known = current.load();
        if (known && known->process == process_id())
            return *known;
        auto fresh = std::make_unique<lookups>();
        return current.compare_exchange_strong(known, fresh.get()) ? *fresh.release() : *known;
    }
};

error_code look_up(std::string const& host, std::vector<asio::ip::address>& found)
try {
    asio::io_context own;
    error_code failed;
    using resolver = asio::ip::tcp::resolver;
    for (auto const& each : resolver{own}.resolve(host, "", resolver::flags{}, failed))
        if (auto const next = each.endpoint().address();
            std::ranges::find(found, next) == found.end())
            found.push_back(next);
    return failed || !found.empty() ? failed : error_code{asio::error::host_not_found};
} catch (boost::system::system_error const& thrown) {
    return thrown.code();
} catch (std::exception const&) {
    return asio::error::no_memory;
}

void run_lookup(std::string const& host, shared_lookup& result)
{
    result.failed = look_up(host, result.found);
    {
        std::lock_guard const all_locked{lookups::all().lock};
        lookups::all().by_name.erase(host);
    }
    result.is_over = true;
}

/// Joins the lookup of this name, or begins one. Fails if no thread could be started.
error_code join(std::string const& host, std::shared_ptr<shared_lookup>& joined)
{
    auto& all = lookups::all();
    std::lock_guard const locked{all.lock};
    auto& known = all.by_name[host];
    bool const is_new = !known;
    if (is_new)
        known = std::make_shared<shared_lookup>();
    joined = known;
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

constexpr std::chrono::milliseconds first_look{1}, longest_between_looks{32};

}  // namespace

name_lookup::name_lookup(strand_type const& strand) : pause_{strand} {}

name_lookup::~name_lookup() { cancel(); }

void name_lookup::start(std::string const& host, std::uint16_t port, on_found done)
{
    cancel();
    if (auto const ec = join(host, lookup_))
        return done(ec, {});
    asked_ = std::make_shared<question>(this);
    port_ = port;
    done_ = std::move(done);
    look_after(first_look);
}

void name_lookup::look_after(std::chrono::milliseconds pause)
{
    pause_.expires_after(pause);
    pause_.async_wait([asked = asked_, pause](error_code) {
        if (asked->asker)
            asked->asker->look(pause);
    });
}

void name_lookup::look(std::chrono::milliseconds paused)
{
    if (!lookup_->is_over)
        return look_after(std::min(paused * 2, longest_between_looks));
    auto const looked = lookup_;
    auto const done = std::exchange(done_, nullptr);
    cancel();
    endpoints found;
    for (auto const& each : looked->found)
        found.emplace_back(each, port_);
    done(looked->failed, found);  // may destroy this
}

void name_lookup::cancel() noexcept
{
    if (auto const asked = std::exchange(asked_, nullptr))
        asked->asker = nullptr;
    lookup_ = nullptr;
    pause_.cancel();
}

}  // namespace colock
