#include "redis/name_lookup.hpp"
#include "system/process.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/query.hpp>
#include <boost/system/system_error.hpp>

#include <algorithm>
#include <atomic>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

namespace colock {

/// A call of `start`. Only its strand looks into it, and the end of its context.
struct name_lookup::question {
    name_lookup* asker;  ///< none if it no longer waits
};

struct name_lookup::shared_lookup {
    struct waiter {
        std::shared_ptr<question> asked;
        strand_type strand;
    };

    /// Under the lock: without it, who waits may cancel, and its context may end.
    void tell_all()
    {
        for (auto const& [asked, strand] : waiting)
            asio::post(strand, [asked = asked] {
                if (asked->asker)
                    asked->asker->finish();
            });
        waiting.clear();
    }

    std::mutex lock;
    std::vector<waiter> waiting;
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
    std::vector<asio::ip::address> found;
    auto const failed = look_up(host, found);
    {
        std::lock_guard const all_locked{lookups::all().lock};
        lookups::all().by_name.erase(host);
    }
    std::lock_guard const locked{result.lock};
    result.failed = failed;
    result.found = std::move(found);
    result.tell_all();
}

/// Joins the lookup of this name, or begins one. Fails if no thread could be started.
error_code join(
    std::string const& host, shared_lookup::waiter one, std::shared_ptr<shared_lookup>& joined
)
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
        joined->waiting.push_back(std::move(one));
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

/// Cancels what is still waiting when a context ends. The context destroys this before the queues
/// that the threads post to, because it is younger.
class name_lookup::context_end final : public asio::execution_context::service {
public:
    using key_type = context_end;
    static inline asio::execution_context::id id;

    explicit context_end(asio::execution_context& c) : service{c} {}

    void add(name_lookup& one)
    {
        std::lock_guard const locked{lock_};
        waiting_.push_back(&one);
    }

    void remove(name_lookup& one) noexcept
    {
        std::lock_guard const locked{lock_};
        std::erase(waiting_, &one);
    }

private:
    void shutdown() override
    {
        std::unique_lock locked{lock_};
        auto const left = std::exchange(waiting_, {});
        locked.unlock();
        for (auto* const each : left)
            each->cancel();
    }

    std::mutex lock_;
    std::vector<name_lookup*> waiting_;
};

name_lookup::name_lookup(strand_type strand) : strand_{std::move(strand)} {}

name_lookup::~name_lookup() { cancel(); }

void name_lookup::start(std::string const& host, std::uint16_t port, on_found done)
{
    cancel();
    port_ = port;
    asked_ = std::make_shared<question>(this);
    auto& context = asio::query(strand_, asio::execution::context);
    end_ = &asio::use_service<context_end>(context);
    end_->add(*this);
    if (auto const ec = join(host, {asked_, strand_}, lookup_)) {
        cancel();
        return done(ec, {});
    }
    done_ = std::move(done);
    work_ = asio::prefer(strand_.get_inner_executor(), asio::execution::outstanding_work.tracked);
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
    auto const asked = std::exchange(asked_, nullptr);
    if (!asked)
        return;
    asked->asker = nullptr;
    if (auto const looked = std::exchange(lookup_, nullptr)) {
        std::lock_guard const locked{looked->lock};
        std::erase_if(looked->waiting, [&](auto const& each) { return each.asked == asked; });
    }
    end_->remove(*this);
    work_ = {};
}

}  // namespace colock
