// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/config.hpp>

#include <memory>
#include <string>
#include <vector>

namespace colock::testing {

/// How a private server is run.
struct private_server_options {
    /// The program. Empty: `redis-server`, else `valkey-server`, of PATH.
    std::string program{};

    /// Lines of its configuration beside those that make it private, quoted as in its file:
    /// `requirepass "two words"`.
    std::vector<std::string> settings{};
};

/// A redis-server or valkey-server of the test's own, on a unix socket in a temporary folder, for
/// tests that want the real thing:
///
///     colock::testing::private_server server;             // answers when this returns
///     colock::client redis{executor, server.settings()};  // or config::from_url(server.url())
///     redis.run(asio::detached);
///     …
///     server.kill();                                      // what does the code do now?
///
/// It listens on no port and keeps nothing on disk. It and its folder go with the object. Should
/// the test's process be killed, the kernel ends the server, and the next private server of the
/// same user removes the folder. Signals that the test blocks or ignores are not the server's. (The
/// kernel goes by the thread that made the object: that thread has to live as long.)
///
/// Linux. Starting takes some 10 ms: share one among tests, and `flush()` it between them.
///
/// \par Errors
///   `std::runtime_error`: there is no such program, or it does not start; the text has what it
///   said and what to do.
/// \par Thread-safety
///   None.
class private_server {
public:
    explicit private_server(private_server_options = {});
    ~private_server();
    private_server(private_server const&) = delete;
    private_server& operator=(private_server const&) = delete;

    /// Whether there is a server in PATH, for tests that are skipped without one.
    static bool is_available();

    /// `unix:///tmp/…`; without the password of a `requirepass`.
    std::string url() const;

    /// A config with its address, and the password of a `requirepass`.
    config settings() const;

    std::string const& socket() const noexcept;

    /// Removes all keys.
    void flush();

    /// In order: it closes its connections. Nothing of its data stays.
    void stop();

    /// At once, as after a crash.
    void kill();

    /// Runs it again, empty, on the same socket.
    void start();
    void restart();

    /// Stops the process as a debugger does: connections stay, nobody answers. And lets it go on.
    void pause();
    void resume();

    /// False of one that was stopped or killed, is paused, or has died.
    bool is_running();

private:
    struct process;
    std::unique_ptr<process> process_;
};

}  // namespace colock::testing
