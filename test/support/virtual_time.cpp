// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "support/virtual_time.hpp"

namespace colock::test {

virtual_time::virtual_time(boost::asio::io_context& context) : context_{context}
{
    clock::fake(time_point{std::chrono::hours{1'000}});
}

virtual_time::~virtual_time() { clock::fake({}); }

bool virtual_time::poll_one()
{
    if (context_.stopped())
        context_.restart();
    if (context_.poll_one() == 0)
        return false;
    ++handlers_;
    return true;
}

// A due timer shows when the kernel has run the timerfd that Asio has set. That may be a moment
// after the call, so what has just been set is looked for twice.
bool virtual_time::step() { return poll_one() || poll_one(); }

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
        if (poll_one())
            settle();
    }
    return true;
}

void virtual_time::jump(milliseconds time) { clock::fake(clock::now() + time); }

}  // namespace colock::test
