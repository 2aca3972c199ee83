#include "base/resume_notice.hpp"
#include <colock/error.hpp>

#ifdef __linux__
#    include <boost/asio/posix/basic_stream_descriptor.hpp>

#    include <cstdint>
#    include <sys/timerfd.h>
#    include <unistd.h>
#    include <utility>
#endif

namespace colock {

#ifdef __linux__

namespace {

/// A timer that is never due. The kernel ends the wait for it when the wall clock is set, and
/// counts the end of a suspension as that.
int make_descriptor() noexcept
{
    int const made = ::timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK | TFD_CLOEXEC);
    if (made < 0)
        return made;
    itimerspec when{};
    when.it_value.tv_sec = 1LL << 33U;  // in 2242
    if (::timerfd_settime(made, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, &when, nullptr) == 0)
        return made;
    ::close(made);
    return -1;
}

}  // namespace

struct resume_notice::source {
    explicit source(strand_type const& strand) : descriptor{strand} {}

    void start(std::function<void()> tell)
    {
        if (descriptor.is_open())
            return;
        int const made = make_descriptor();
        if (made < 0)
            return;
        error_code ec;
        descriptor.assign(made, ec);
        if (ec) {
            ::close(made);
            return;
        }
        wait(std::move(tell));
    }

    /// Only the wait has `tell`: what keeps this alive must end with the context.
    void wait(std::function<void()> tell)
    {
        descriptor.async_wait(
            asio::posix::descriptor_base::wait_read,
            [this, tell = std::move(tell)](error_code ec) {
                if (ec)
                    return;
                std::uint64_t expired = 0;
                [[maybe_unused]] auto const n =
                    ::read(descriptor.native_handle(), &expired, sizeof expired);
                wait(tell);
                tell();
            }
        );
    }

    void stop() noexcept
    {
        error_code ignored;
        descriptor.close(ignored);
    }

    asio::posix::basic_stream_descriptor<strand_type> descriptor;
};

#else

struct resume_notice::source {
    explicit source(strand_type const&) {}
    void start(std::function<void()> const&) {}
    void stop() noexcept {}
};

#endif

resume_notice::resume_notice(strand_type const& strand) : source_{std::make_unique<source>(strand)}
{}

resume_notice::~resume_notice() = default;

void resume_notice::start(std::function<void()> tell)
{
    if (!clock::is_fake())
        source_->start(std::move(tell));
}

void resume_notice::stop() noexcept { source_->stop(); }

}  // namespace colock
