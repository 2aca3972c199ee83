// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/config.hpp>

#include <memory>
#include <string>
#include <vector>

namespace colock {
inline namespace v0_3 {
namespace testing {

/// How to run a private server.
struct private_server_options {
    /// The program. If empty, `redis-server` in PATH, or `valkey-server` if there is none.
    std::string program{};

    /// Further lines of its configuration, quoted as in its file: `requirepass "two words"`.
    std::vector<std::string> settings{};
};

/// A redis-server or valkey-server that belongs to the test, on a unix socket in a temporary
/// folder, for tests that want a real server:
///
///     colock::testing::private_server server;             // answers when this returns
///     colock::client redis{executor, server.settings()};  // or config::from_url(server.url())
///     redis.run(asio::detached);
///     …
///     server.kill();                                      // what does the code do now?
///
/// It listens on no port and keeps nothing on disk. The destructor ends it and removes its folder.
/// If the test's process is killed, the kernel ends the server, and the next private server of the
/// same user removes the folder. The kernel does that when the thread that made the object ends, so
/// that thread has to live as long as the object. The server does not inherit the signals that the
/// test blocks or ignores.
///
/// Linux only. Starting takes some 10 ms: share one among tests, and `flush()` it between them.
///
/// \par Errors
///   `std::runtime_error`: there is no such program, or it does not start. The text has the
///   program's output and the remedy.
/// \par Thread-safety
///   None.
class private_server {
public:
    explicit private_server(private_server_options = {});
    ~private_server();
    private_server(private_server const&) = delete;
    private_server& operator=(private_server const&) = delete;

    /// Whether there is a server in PATH. Tests that need one can then be skipped.
    static bool is_available();

    /// `unix:///tmp/…`; without the password of a `requirepass`.
    std::string url() const;

    /// A config with the server's address, and the password of a `requirepass`.
    config settings() const;

    std::string const& socket() const noexcept;

    /// Removes all keys.
    void flush();

    /// Ends the server in order: it closes its connections. Its data is gone.
    void stop();

    /// Ends the server at once, like a crash.
    void kill();

    /// Starts it again, empty, on the same socket.
    void start();
    void restart();

    /// `pause()` stops the process as a debugger does: its connections stay open, but it does not
    /// answer. `resume()` lets it go on.
    void pause();
    void resume();

    /// False if the server was stopped or killed, is paused, or has died.
    bool is_running();

private:
    struct process;
    std::unique_ptr<process> process_;
};

}  // namespace testing
}  // namespace v0_3
}  // namespace colock
