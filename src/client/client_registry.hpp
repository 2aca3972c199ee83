#pragma once

#include <boost/asio/execution_context.hpp>

#include <memory>
#include <mutex>
#include <vector>

namespace colock {
inline namespace v0_3 {
namespace detail {

namespace asio = boost::asio;

class core;

/// Knows the clients of an execution context, because their pending handlers have to be destroyed
/// with the context, like those of Asio's own objects.
class client_registry final : public asio::execution_context::service {
public:
    using key_type = client_registry;
    static inline asio::execution_context::id id;

    explicit client_registry(asio::execution_context& c) : service{c} {}

    void add(std::weak_ptr<core> c)
    {
        std::scoped_lock const guard{mutex_};
        std::erase_if(cores_, [](auto const& known) { return known.expired(); });
        cores_.push_back(std::move(c));
    }

private:
    void shutdown() override;

    std::mutex mutex_;
    std::vector<std::weak_ptr<core>> cores_;
};

}  // namespace detail
}  // namespace v0_3
}  // namespace colock
