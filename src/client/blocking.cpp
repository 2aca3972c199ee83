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

[[noreturn]] void throw_error(error ec, std::string const& doing)
{
    colock::detail::call_about const about{"", colock::detail::short_name{doing}};
    throw error_with_diagnostics{ec, text_of({ec}, about)};
}

}  // namespace

void detail::expect_other_thread(asio::any_io_executor const& by)
{
    if (is_served_here(by))
        throw_error(error::would_deadlock, "wait");
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
    if (!own_ || is_served_here(used_->get_executor()))
        return;
    try {
        used_->close(wait);
    } catch (std::exception const&) {  // the log has it
    }
}

void client::close()
{
    if (is_served_here(used_->get_executor()))
        throw_error(error::would_deadlock, "close");
    used_->close(wait);
}

// ---- The mutex ---------------------------------------------------------------------------------

void mutex::lock()
{
    expect_other_thread("lock ");
    if (has_it())
        throw_error(error::would_deadlock, "lock " + name());
    keep(of_.acquire(options_, wait));
}

bool mutex::try_lock() { return try_lock_within(std::chrono::milliseconds{0}); }

bool mutex::try_lock_within(std::chrono::milliseconds longest)
{
    expect_other_thread("try_lock ");
    if (has_it())
        return false;
    auto taken = of_.try_acquire_for(longest, options_, wait);
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
        mine.release(wait);
    } catch (std::exception const&) {  // the log has it; without memory the destructor releases
    }
}

void mutex::release()
{
    expect_other_thread("release ");
    hold mine = take_out();
    if (!colock::detail::state_of(mine))
        throw_error(error::not_held, "release " + name());
    mine.release(wait);
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
        throw_error(error::would_deadlock, doing + name());
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
