#include <colock/blocking.hpp>

#include <boost/asio/execution.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/system/system_error.hpp>

#include <future>
#include <optional>
#include <utility>

namespace colock {
inline namespace v0_3 {
namespace blocking {

namespace asio = boost::asio;

namespace {

/// Whether this thread serves this kind of executor, or a strand of it.
template <class Executor>
bool is_served_here_by(asio::any_io_executor const& by) noexcept
{
    if (auto const* const directly = by.target<Executor>())
        return directly->running_in_this_thread();
    auto const* const strand = by.target<asio::strand<Executor>>();
    return strand && strand->get_inner_executor().running_in_this_thread();
}

/// The same executor without properties: each set of them is a type of its own.
asio::any_io_executor without_properties(asio::any_io_executor const& of)
{
    namespace execution = asio::execution;
    return asio::prefer(
        of,
        execution::blocking.possibly,
        execution::outstanding_work.untracked,
        execution::relationship.fork
    );
}

/// Whether this thread serves the executor, and so would wait for itself. Of other contexts than
/// Asio's own nobody can tell.
bool is_served_here(asio::any_io_executor const& any) noexcept
{
    auto const by = without_properties(any);
    auto const* const strand = by.target<asio::strand<asio::any_io_executor>>();
    return is_served_here_by<asio::io_context::executor_type>(by) ||
        is_served_here_by<asio::thread_pool::executor_type>(by) ||
        (strand && is_served_here(strand->get_inner_executor()));
}

void throw_if_failed(error_code ec, std::string const& doing)
{
    if (ec)
        throw boost::system::system_error{ec, doing};
}

/// Waits for the operation, and gives its error in place of an exception.
template <class... Values, class Begin>
std::pair<error_code, std::tuple<Values...>> wait_for(Begin begin)
{
    return detail::wait_for<error_code, Values...>(std::move(begin));
}

}  // namespace

void detail::expect_other_thread(asio::any_io_executor const& by)
{
    if (is_served_here(by))
        throw boost::system::system_error{error::would_deadlock, "wait"};
}

// ---- The client --------------------------------------------------------------------------------

struct client::own_client {
    explicit own_client(config settings) : redis{pool.get_executor(), std::move(settings)} {}

    asio::thread_pool pool{1};
    colock::client redis;
};

client::client(config settings)
    : own_{std::make_unique<own_client>(std::move(settings))}
    , used_{&own_->redis}
{}

client::client(colock::client& shared) : used_{&shared} {}

client::~client()
{
    if (own_ && !is_served_here(used_->get_executor()))
        wait_for<>([this](auto handler) { used_->close(std::move(handler)); });
}

void client::close()
{
    if (is_served_here(used_->get_executor()))
        throw_if_failed(error::would_deadlock, "close");
    throw_if_failed(
        wait_for<>([this](auto handler) { used_->close(std::move(handler)); }).first, "close"
    );
}

// ---- The mutex ---------------------------------------------------------------------------------

void mutex::lock()
{
    expect_other_thread("lock ");
    if (has_it())
        throw_if_failed(error::would_deadlock, "lock " + name());
    auto [ec, got] =
        wait_for<hold>([this](auto handler) { of_.acquire(options_, std::move(handler)); });
    throw_if_failed(ec, "lock " + name());
    keep(std::move(std::get<0>(got)));
}

bool mutex::try_lock() { return try_lock_within(std::chrono::milliseconds{0}); }

bool mutex::try_lock_within(std::chrono::milliseconds longest)
{
    expect_other_thread("try_lock ");
    if (has_it())
        return false;
    auto [ec, got] = wait_for<if_acquired<hold>>([&](auto handler) {
        of_.try_acquire_for(longest, options_, std::move(handler));
    });
    throw_if_failed(ec, "try_lock " + name());
    auto& taken = std::get<0>(got);
    if (!taken)
        return false;
    keep(std::move(*taken));
    return true;
}

void mutex::unlock() noexcept
{
    hold mine = take_out();
    if (is_served_here(executor_))
        return;
    try {
        wait_for<>([&](auto handler) { mine.release(std::move(handler)); });
    } catch (std::exception const&) {  // no memory: the hold's destructor releases
    }
}

void mutex::release()
{
    expect_other_thread("release ");
    hold mine = take_out();
    throw_if_failed(
        wait_for<>([&](auto handler) { mine.release(std::move(handler)); }).first,
        "release " + name()
    );
}

hold const& mutex::held() const
{
    static hold const nothing;
    std::scoped_lock const guard{mutex_};
    auto const at = held_.find(std::this_thread::get_id());
    return at == held_.end() ? nothing : at->second;
}

/// A lost hold is not in the way: the thread may lock again.
bool mutex::has_it() const { return static_cast<bool>(held()); }

void mutex::expect_other_thread(char const* doing) const
{
    if (is_served_here(executor_))
        throw_if_failed(error::would_deadlock, doing + name());
}

void mutex::keep(hold taken)
{
    std::scoped_lock const guard{mutex_};
    held_[std::this_thread::get_id()] = std::move(taken);
}

hold mutex::take_out()
{
    std::scoped_lock const guard{mutex_};
    auto mine = held_.extract(std::this_thread::get_id());
    return mine ? std::move(mine.mapped()) : hold{};
}

}  // namespace blocking
}  // namespace v0_3
}  // namespace colock
