#pragma once

#include "base/timer.hpp"
#include <colock/error.hpp>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/wait_traits.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace colock {

/// Looks up the addresses of a host name.
///
/// The system's lookup can't be cancelled and may take many seconds. Therefore each name has its
/// own thread, once at a time in a process: a name that hangs delays no other name, and an attempt
/// that comes while the lookup is under way joins it. The thread may outlive its callers and their
/// contexts, and a context may be one that no other thread may post to. So the thread knows nothing
/// of them: who waits looks at the result, after 1 ms, and then ever less often.
class name_lookup {
public:
    using endpoints = std::vector<asio::ip::tcp::endpoint>;
    using on_found = std::function<void(error_code, endpoints const&)>;

    explicit name_lookup(strand_type const& strand);
    ~name_lookup();
    name_lookup(name_lookup const&) = delete;
    name_lookup& operator=(name_lookup const&) = delete;

    /// Calls `done` on the strand, unless this is destroyed or cancelled first.
    void start(std::string const& host, std::uint16_t port, on_found done);
    void cancel() noexcept;

    /// A lookup under way; public for the threads.
    struct shared_lookup;

private:
    /// A call of `start`.
    struct question {
        name_lookup* asker;  ///< none if it no longer waits
    };
    // Of the system's clock also where tests have one of their own, because a thread takes real
    // time.
    using real_clock = std::chrono::steady_clock;
    using timer =
        asio::basic_waitable_timer<real_clock, asio::wait_traits<real_clock>, strand_type>;

    void look_after(std::chrono::milliseconds pause);
    void look(std::chrono::milliseconds paused);

    timer pause_;
    std::shared_ptr<shared_lookup> lookup_;  ///< the one under way
    std::shared_ptr<question> asked_;
    std::uint16_t port_ = 0;
    on_found done_;
};

}  // namespace colock
