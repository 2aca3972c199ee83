// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "support/child_process.hpp"
#include "support/fixture.hpp"
#include "support/places.hpp"
#include "support/redis_server.hpp"

#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace colock::test {

/// A program that is spoken to by lines. It is killed with this object; what it says to standard
/// error is in the exception that reports its end.
class line_process {
public:
    explicit line_process(std::vector<std::string> const& command);
    line_process(line_process const&) = delete;
    line_process& operator=(line_process const&) = delete;
    ~line_process();

    void say(std::string_view line);

    /// The next line, if one has come. Throws when the program has ended.
    std::optional<std::string> hear();

    void kill() noexcept { process_.kill(); }

private:
    std::string errors_;  ///< a file
    int socket_ = -1;
    child_process process_;
    std::string received_;
};

/// A process with Redisson in it: test/interop/java.
class java_peer {
public:
    /// Its watchdog keeps locks for that long, and renews them each third of it.
    static constexpr milliseconds watchdog = std::chrono::milliseconds{1'200};

    /// With `cluster://` for the scheme it is a client of the cluster that the server belongs to.
    /// With a prefix its NameMapper puts that before each name.
    explicit java_peer(
        redis_server& server, std::string const& scheme = "redis://", std::string const& prefix = {}
    );

    /// Whether it is the oldest Redisson that docs/versions.md names, which lacks some operations.
    static bool is_oldest();

    /// What a command has come to.
    struct outcome {
        std::string text;  ///< its value, or the text of the exception
        bool failed = false;
        std::chrono::steady_clock::time_point at;  ///< when it arrived
    };

    /// A command under way.
    class call {
    public:
        call(java_peer& of, int number) noexcept : peer_{&of}, number_{number} {}

        bool is_done() const;

        /// Waits for its end, and throws if there is none within the limit.
        asio::awaitable<outcome> wait(milliseconds limit = 10s) const;

    private:
        java_peer* peer_;
        int number_;
    };

    /// Begins `command` on Java's thread `thread`, on the object `name` of this kind.
    template <class... Arguments>
    call begin(
        std::string const& thread,
        std::string const& command,
        std::string const& kind,
        std::string const& name,
        Arguments const&... arguments
    )
    {
        return start({thread, command, kind, quoted(name), word(arguments)...});
    }

    /// The same, to its end: its value. Throws if it failed.
    template <class... Arguments>
    asio::awaitable<std::string> ask(
        std::string thread,
        std::string command,
        std::string kind,
        std::string name,
        Arguments... arguments
    )
    {
        auto const got = co_await begin(thread, command, kind, name, arguments...).wait();
        if (got.failed)
            throw std::runtime_error{command + ": " + got.text};
        co_return got.text;
    }

    void kill() noexcept { process_.kill(); }

private:
    static std::string quoted(std::string_view name);
    static std::string word(std::string const& text) { return text; }
    static std::string word(milliseconds time) { return std::to_string(time.count()); }
    static std::string word(std::int64_t number) { return std::to_string(number); }

    call start(std::vector<std::string> const& words);
    void hear();

    line_process process_;
    std::map<int, outcome> answers_;
    int last_ = 0;
};

/// A lease that Redisson's watchdog renews.
inline constexpr std::chrono::milliseconds by_watchdog{-1};

/// One for all tests of the process that don't harm it, at the shared server.
java_peer& shared_java();

/// A lab whose server is shared with Redisson.
class java_lab : public lab {
public:
    java_lab() : lab{shared_server(server_kind::redis)} {}

    /// As `lab::run`, after Redisson has taken its latches away.
    void run(std::function<asio::awaitable<void>()> what, milliseconds limit = 20s);
};

}  // namespace colock::test
