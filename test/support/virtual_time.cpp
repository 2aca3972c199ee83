// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "support/virtual_time.hpp"

#include <thread>

namespace colock::test {

namespace {

// A due timer shows up when the kernel has run the timerfd that Asio has just set, which on a busy
// machine may be a moment after the call.
constexpr int idle_polls = 3;

}  // namespace

virtual_time::virtual_time(boost::asio::io_context& context) : context_{context}
{
    clock::fake(time_point{std::chrono::hours{1'000}});
}

virtual_time::~virtual_time() { clock::fake({}); }

bool virtual_time::step()
{
    for (int idle = 0; idle != idle_polls; ++idle) {
        if (idle != 0)
            std::this_thread::yield();
        if (context_.stopped())
            context_.restart();
        if (context_.poll_one() != 0) {
            ++handlers_;
            return true;
        }
    }
    return false;
}

void virtual_time::settle()
{
    while (step()) {}
}

void virtual_time::advance(milliseconds time)
{
    advance_until([] { return false; }, time);
}

bool virtual_time::advance_until(std::function<bool()> const& is_so, milliseconds limit)
{
    settle();
    for (auto passed = milliseconds{0}; !is_so(); passed += milliseconds{1}) {
        if (passed == limit)
            return false;
        jump(milliseconds{1});
        settle();
    }
    return true;
}

void virtual_time::jump(milliseconds time) { clock::fake(clock::now() + time); }

}  // namespace colock::test
