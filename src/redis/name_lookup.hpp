#pragma once

#include "base/timer.hpp"
#include <colock/error.hpp>

#include <boost/asio/ip/tcp.hpp>

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
/// contexts. So it posts only to those that still wait, and waiting ends before a context does.
class name_lookup {
public:
    using endpoints = std::vector<asio::ip::tcp::endpoint>;
    using on_found = std::function<void(error_code, endpoints const&)>;

    explicit name_lookup(strand_type strand);
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
    class context_end;

    void finish();

    strand_type strand_;
    context_end* end_ = nullptr;
    asio::any_io_executor work_;             ///< lets the context's `run()` wait
    std::shared_ptr<shared_lookup> lookup_;  ///< the one under way
    std::shared_ptr<question> asked_;
    std::uint16_t port_ = 0;
    on_found done_;
};

}  // namespace colock
