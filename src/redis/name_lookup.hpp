#pragma once

#include "base/timer.hpp"
#include <colock/error.hpp>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/posix/basic_stream_descriptor.hpp>

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
/// that comes while the lookup is under way joins it. The thread may outlive its callers, so it
/// touches nothing that is theirs.
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
    struct question;

    void finish();

    asio::posix::basic_stream_descriptor<strand_type> signal_;  ///< the thread writes to it
    std::shared_ptr<shared_lookup> lookup_;
    std::shared_ptr<question> asked_;  ///< the one under way
    std::uint16_t port_ = 0;
    on_found done_;
};

}  // namespace colock
