// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/colock.hpp>

#include <boost/asio/awaitable.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

// The whole family behind one face, for tests that take whatever comes.
namespace colock::test {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using std::chrono::milliseconds;

enum class kind { plain, fair, read, write, spin, fenced, multi, red, semaphore, permits, latch };

inline constexpr std::array all_kinds{
    kind::plain,
    kind::fair,
    kind::read,
    kind::write,
    kind::spin,
    kind::fenced,
    kind::multi,
    kind::red,
    kind::semaphore,
    kind::permits,
    kind::latch};

std::string_view name_of(kind) noexcept;

/// One owner at a time.
bool is_exclusive(kind) noexcept;

struct manner {
    std::optional<milliseconds> wait{};  ///< none: without end
    milliseconds cancel = 1h;            ///< cancelled after so long
    acquire_options options{};
};

/// What an acquire of any kind came to. Gives back in the background what is left of it.
class taken {
public:
    explicit taken(error_code ec) noexcept : ec_{ec} {}
    taken(error_code ec, hold held) noexcept : ec_{ec}, held_{std::move(held)} {}
    taken(error_code ec, colock::semaphore one_of) : ec_{ec}, one_of_{std::move(one_of)} {}
    taken(taken&& other) noexcept;
    taken& operator=(taken&&) = delete;
    ~taken() { drop(); }

    error_code error() const noexcept { return ec_; }

    /// Something has to be given back.
    explicit operator bool() const noexcept { return is_hold() || one_of_; }

    /// A plain semaphore's permit and a latch are none.
    bool is_hold() const noexcept { return given_; }
    hold& held() noexcept { return held_; }

    asio::awaitable<error_code> give_back();
    void drop() noexcept;

private:
    error_code ec_;
    hold held_;
    bool given_ = static_cast<bool>(held_);
    std::optional<colock::semaphore> one_of_;
};

/// Takes it. Of a latch, waits for it. The client, whose parts are kept alive, may go.
asio::awaitable<taken> take(client const&, kind, std::string name, manner);

/// So many may be inside, where that is a number that the server keeps.
asio::awaitable<error_code> make(client const&, kind, std::string name, int permits);

/// How many may come yet.
asio::awaitable<std::int64_t> left_of(client const&, kind, std::string name);

}  // namespace colock::test
