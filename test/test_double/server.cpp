// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A private server: there when it says so, and gone afterwards, whatever happens.
#include "support/places.hpp"
#include <colock/colock.hpp>
#include <colock/testing.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <poll.h>
#include <stdexcept>
#include <string>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

using colock::testing::child;
using colock::testing::private_server;
using namespace std::chrono_literals;
namespace asio = boost::asio;
namespace fs = std::filesystem;

namespace {

boost::test_tools::assertion_result has_server(boost::unit_test::test_unit_id)
{
    return private_server::is_available();
}

/// Takes and gives back a lock there.
bool can_lock(private_server const& server)
{
    asio::io_context context;
    colock::client redis{context.get_executor(), server.settings()};
    redis.run(asio::detached);
    auto done = asio::co_spawn(
        context,
        [](colock::client& c) -> asio::awaitable<bool> {
            auto held = co_await colock::lock{c, "k"}.try_acquire_for(5s);
            if (held)
                co_await held->release();
            co_await c.close();
            co_return held.has_value();
        }(redis),
        asio::use_future
    );
    context.run();
    return done.get();
}

/// The process that has this socket open, by its lock file; waits until it has gone.
bool goes_away(std::string const& socket)
{
    for (int i = 0; i != 500; ++i) {
        std::ifstream all{"/proc/net/unix"};
        bool found = false;
        for (std::string line; std::getline(all, line);)
            found = found || line.find(socket) != std::string::npos;
        if (!found)
            return true;
        ::poll(nullptr, 0, 10);
    }
    return false;
}

/// A variable of the environment that is something else for a while.
struct variable_is {
    variable_is(char const* variable, std::string const& value)
        : name{variable}
        , was_set{std::getenv(variable) != nullptr}
        , before{was_set ? std::getenv(variable) : ""}
    {
        ::setenv(name, value.c_str(), 1);
    }
    ~variable_is() { was_set ? ::setenv(name, before.c_str(), 1) : ::unsetenv(name); }
    char const* name;
    bool was_set;
    std::string before;
};

/// A line of what the kernel says of a process, without its name.
std::string status_of(pid_t process, std::string const& name)
{
    std::ifstream all{"/proc/" + std::to_string(process) + "/status"};
    for (std::string line; std::getline(all, line);)
        if (line.starts_with(name + ":\t"))
            return line.substr(name.size() + 2);
    return {};
}

}  // namespace

BOOST_AUTO_TEST_SUITE(server)

BOOST_AUTO_TEST_CASE(without_a_program_it_says_what_to_do)
{
    variable_is const nothing{"PATH", "/nowhere"};
    BOOST_TEST(!private_server::is_available());
    BOOST_CHECK_EXCEPTION(private_server{}, std::runtime_error, [](auto const& e) {
        return std::string{e.what()}.find("apt-get install redis-server") != std::string::npos;
    });
    BOOST_CHECK_EXCEPTION(
        (private_server{{.program = "no-such-server"}}),
        std::runtime_error,
        [](auto const& e) {
            return std::string{e.what()}.find("'no-such-server'") != std::string::npos;
        }
    );
}

BOOST_AUTO_TEST_CASE(
    it_says_what_a_server_said_that_does_not_start, *boost::unit_test::precondition(has_server)
)
{
    BOOST_CHECK_EXCEPTION(
        (private_server{{.settings = {"no-such-setting 1"}}}),
        std::runtime_error,
        [](auto const& e) {
            return std::string{e.what()}.find("no-such-setting") != std::string::npos;
        }
    );
}

BOOST_AUTO_TEST_CASE(it_can_be_locked_on_and_goes, *boost::unit_test::precondition(has_server))
{
    std::string socket;
    {
        private_server server;
        socket = server.socket();
        BOOST_TEST(server.url() == "unix://" + socket);
        BOOST_TEST(can_lock(server));
        server.flush();
        server.pause();
        BOOST_TEST(!server.is_running());
        server.resume();
        server.stop();
        BOOST_TEST(!server.is_running());
        server.start();
        BOOST_TEST(can_lock(server));
        server.restart();
        BOOST_TEST(can_lock(server));
    }
    BOOST_TEST(!fs::exists(fs::path{socket}.parent_path()));
    BOOST_TEST(goes_away(socket));
}

BOOST_AUTO_TEST_CASE(a_password_is_known_and_not_shown, *boost::unit_test::precondition(has_server))
{
    private_server server{{.settings = {"requirepass secret"}}};
    BOOST_TEST(can_lock(server));
    server.flush();
    BOOST_TEST(server.url().find("secret") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(
    a_password_is_written_as_the_server_reads_it, *boost::unit_test::precondition(has_server)
)
{
    struct {
        std::string line, password;
    } const all[] = {
        {"requirepass \"two words\"", "two words"},
        {"  RequirePass\t'it\\'s'", "it's"},
        {R"(requirepass "a\"b\\c\x64")", "a\"b\\cd"},
        {"requirepass \"\"", ""},
        {"# requirepass no", ""}};
    for (auto const& [line, password] : all) {
        private_server server{{.settings = {line}}};
        BOOST_TEST(server.settings().password == password);
        BOOST_TEST(can_lock(server));
        server.flush();
    }
}

BOOST_AUTO_TEST_CASE(
    its_folder_may_have_blanks_and_quotes, *boost::unit_test::precondition(has_server)
)
{
    auto const folder = fs::temp_directory_path() / ("a \"b\" " + std::to_string(::getpid()));
    fs::create_directory(folder);
    {
        variable_is const there{"TMPDIR", folder.string()};
        private_server const server;
        BOOST_TEST(can_lock(server));
        auto const again = colock::config::from_url(server.url());
        BOOST_TEST((again.addresses == server.settings().addresses));
    }
    BOOST_TEST(fs::is_empty(folder));
    fs::remove_all(folder);
}

BOOST_AUTO_TEST_CASE(what_the_test_blocks_and_ignores_is_not_the_programs)
{
    sigset_t all, before;
    sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    auto* const handler = ::signal(SIGUSR1, SIG_IGN);
    child const program{{"/bin/sleep", "60"}, "/dev/null"};
    ::signal(SIGUSR1, handler);
    sigset_t now;
    ::pthread_sigmask(SIG_SETMASK, &before, &now);
    BOOST_TEST(sigismember(&now, SIGTERM) == 1);
    for (int i = 0; i != 500 && status_of(program.id(), "Name") != "sleep"; ++i)
        ::poll(nullptr, 0, 10);
    BOOST_TEST(status_of(program.id(), "Name") == "sleep");
    BOOST_TEST(status_of(program.id(), "SigBlk") == "0000000000000000");
    BOOST_TEST(status_of(program.id(), "SigIgn") == "0000000000000000");
}

BOOST_AUTO_TEST_CASE(
    it_goes_with_a_test_that_is_killed, *boost::unit_test::precondition(has_server)
)
{
    int ends[2];
    BOOST_TEST_REQUIRE(::pipe(ends) == 0);
    auto const test = ::fork();
    if (test == 0) {
        private_server const server;
        auto const& path = server.socket();
        bool const told = ::write(ends[1], path.data(), path.size()) > 0;
        ::raise(told ? SIGKILL : SIGTERM);
    }
    ::close(ends[1]);
    char path[256];
    auto const size = ::read(ends[0], path, sizeof path);
    ::close(ends[0]);
    BOOST_TEST_REQUIRE(size > 0);
    ::waitpid(test, nullptr, 0);
    std::string const socket{path, static_cast<std::size_t>(size)};
    BOOST_TEST(goes_away(socket));
    // Its folder goes with the next one.
    auto const folder = fs::path{socket}.parent_path();
    BOOST_TEST(fs::exists(folder));
    private_server const next;
    BOOST_TEST(!fs::exists(folder));
}

// In another namespace of processes, the number in the name says nothing about who lives.
BOOST_AUTO_TEST_CASE(
    a_folder_stays_as_long_as_it_is_in_use, *boost::unit_test::precondition(has_server)
)
{
    auto const nobody = ::fork();
    if (nobody == 0)
        ::_exit(0);
    ::waitpid(nobody, nullptr, 0);
    auto const begin =
        (fs::temp_directory_path() / ("colock-testing-" + std::to_string(nobody))).string();
    auto const used = begin + "-used", foreign = begin + "-foreign";
    fs::create_directory(used);
    fs::create_directory(foreign);
    int const lock = ::open((used + "/in-use").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    BOOST_TEST_REQUIRE(::flock(lock, LOCK_EX | LOCK_NB) == 0);
    private_server const one;
    BOOST_TEST(fs::exists(used));
    ::close(lock);
    private_server const next;
    BOOST_TEST(!fs::exists(used));
    BOOST_TEST(fs::exists(one.socket()));
    BOOST_TEST(fs::exists(foreign));
    fs::remove_all(foreign);
}

BOOST_AUTO_TEST_SUITE_END()
