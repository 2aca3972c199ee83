#pragma once

#include <boost/json/object.hpp>

#include <chrono>
#include <functional>
#include <new>
#include <sys/types.h>
#include <utility>

namespace bench {

/// A copy of this process that runs one function. It ends with this process at the latest.
class child {
public:
    /// \pre This process has no execution context, no client and no thread yet, for the copy would
    ///      have half of them.
    explicit child(std::function<boost::json::object()> const& work);

    /// Ends the process if it runs still.
    ~child();

    child(child&& other) noexcept
        : pid_{std::exchange(other.pid_, -1)}
        , pipe_{std::exchange(other.pipe_, -1)}
    {}

    child& operator=(child&&) = delete;

    /// How much longer than the measured time it may take.
    static constexpr std::chrono::seconds time_to_end{60};

    /// What the function has returned. Throws if the process failed, or doesn't end in time.
    boost::json::object result(std::chrono::steady_clock::time_point until);

private:
    pid_t pid_ = -1;
    int pipe_ = -1;
};

namespace detail {
void* map_shared(std::size_t size);
void unmap_shared(void* at, std::size_t size) noexcept;
}  // namespace detail

/// A `T` that this process shares with the children it makes later. For atomics and the like.
template <class T>
class shared {
public:
    shared() : at_{new(detail::map_shared(sizeof(T))) T} {}
    ~shared() { detail::unmap_shared(at_, sizeof(T)); }

    shared(shared const&) = delete;
    shared& operator=(shared const&) = delete;

    T& operator*() const noexcept { return *at_; }
    T* operator->() const noexcept { return at_; }

private:
    T* at_;
};

}  // namespace bench
