#include "base/resume_notice.hpp"
#include <colock/error.hpp>

#include <cstdint>
#include <utility>

#ifdef __linux__
#    include <sys/timerfd.h>
#    include <unistd.h>
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

void resume_notice::start(std::function<void()> tell)
{
    if (clock::is_fake() || descriptor_.is_open())
        return;
    int const made = make_descriptor();
    if (made < 0)
        return;
    error_code ec;
    descriptor_.assign(made, ec);
    if (ec) {
        ::close(made);
        return;
    }
    wait(std::move(tell));
}

void resume_notice::wait(std::function<void()> tell)
{
    descriptor_.async_wait(
        asio::posix::descriptor_base::wait_read,
        [this, tell = std::move(tell)](error_code ec) {
            if (ec)
                return;
            std::uint64_t expired = 0;
            [[maybe_unused]] auto const n =
                ::read(descriptor_.native_handle(), &expired, sizeof expired);
            wait(tell);
            tell();
        }
    );
}

#else

void resume_notice::start(std::function<void()>) {}

#endif

void resume_notice::stop() noexcept
{
    error_code ignored;
    descriptor_.close(ignored);
}

}  // namespace colock
