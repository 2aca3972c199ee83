#include "child.hpp"
#include "private_folder.hpp"
#include "server_words.hpp"
#include <colock/testing/private_server.hpp>

#include <cctype>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <poll.h>
#include <sstream>
#include <stdexcept>
#include <string_view>
#include <strings.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <utility>

namespace colock {
inline namespace v0_3 {
namespace testing {

using namespace std::chrono_literals;

namespace {

/// Where PATH has this program; empty if nowhere.
std::string find_program(std::string const& name)
{
    char const* const path = std::getenv("PATH");
    std::istringstream folders{path ? path : "/usr/bin:/bin"};
    for (std::string folder; std::getline(folders, folder, ':');) {
        auto file = (folder.empty() ? "." : folder) + '/' + name;
        if (::access(file.c_str(), X_OK) == 0)
            return file;
    }
    return {};
}

std::string find_server(std::string const& wanted)
{
    if (!wanted.empty()) {
        auto found = wanted.find('/') == wanted.npos ? find_program(wanted) : wanted;
        if (!found.empty() && ::access(found.c_str(), X_OK) == 0)
            return found;
        throw std::runtime_error{
            "private_server: no program '" + wanted + "': name another one in " +
            "private_server_options::program"};
    }
    for (auto const* const name : {"redis-server", "valkey-server"})
        if (auto found = find_program(name); !found.empty())
            return found;
    char const* const path = std::getenv("PATH");
    throw std::runtime_error{
        std::string{"private_server: neither redis-server nor valkey-server is in PATH ("} +
        (path ? path : "") + "): install one (Debian: apt-get install redis-server), or name it " +
        "in private_server_options::program"};
}

std::string last_lines_of(std::string const& file)
{
    std::ostringstream text;
    text << std::ifstream{file}.rdbuf();
    auto const all = text.str();
    return all.size() > 2'000 ? all.substr(all.size() - 2'000) : all;
}

/// One connection, on which words are asked in Redis's inline form.
class conversation {
public:
    explicit conversation(std::string const& path)
        : socket_{not_inherited(::socket(AF_UNIX, SOCK_STREAM, 0))}
    {
        sockaddr_un where{};
        where.sun_family = AF_UNIX;
        path.copy(where.sun_path, sizeof where.sun_path - 1);
        is_open_ = ::connect(socket_, reinterpret_cast<sockaddr*>(&where), sizeof where) == 0;
    }
    conversation(conversation const&) = delete;
    conversation& operator=(conversation const&) = delete;
    ~conversation() { ::close(socket_); }

    /// The first line of the answer; empty if there is none in time.
    std::string ask(std::string const& words, std::chrono::milliseconds longest)
    {
        auto const line = words + "\r\n";
        if (!is_open_ || ::send(socket_, line.data(), line.size(), MSG_NOSIGNAL) < 0)
            return {};
        std::string got;
        auto const limit = std::chrono::steady_clock::now() + longest;
        while (got.find('\n') == got.npos) {
            auto const left = std::chrono::ceil<std::chrono::milliseconds>(
                limit - std::chrono::steady_clock::now()
            );
            pollfd one{socket_, POLLIN, 0};
            char some[256];
            if (left.count() <= 0 || ::poll(&one, 1, static_cast<int>(left.count())) <= 0)
                return {};
            auto const size = ::recv(socket_, some, sizeof some, 0);
            if (size <= 0)
                return {};
            got.append(some, static_cast<std::size_t>(size));
        }
        return got.substr(0, got.find('\r'));
    }

private:
    int socket_;
    bool is_open_ = false;
};

}  // namespace

struct private_server::process {
    explicit process(private_server_options wanted)
        : options{std::move(wanted)}
        , program{find_server(options.program)}
        , socket{folder.path() + "/socket"}
    {
        if (socket.size() >= sizeof sockaddr_un{}.sun_path)
            throw std::runtime_error{
                "private_server: the path of the socket, " + socket +
                ", is too long for the system: set TMPDIR to a shorter one"};
        configure();
        start();
    }

    void configure()
    {
        std::ofstream file{folder.path() + "/server.conf"};
        file << "port 0\nunixsocket " << in_quotes(socket) << "\nunixsocketperm 700\ndir "
             << in_quotes(folder.path()) << "\ndaemonize no\nsave \"\"\nappendonly no\n";
        for (auto const& line : options.settings) {
            file << line << '\n';
            auto const words = words_of(line);
            if (words.size() == 2 && ::strcasecmp(words[0].c_str(), "requirepass") == 0)
                password = words[1];
        }
    }

    void start()
    {
        if (running.is_running())
            return;
        ::unlink(socket.c_str());
        auto const log = folder.path() + "/log";
        auto const limit = std::chrono::steady_clock::now() + 10s;
        running = child{{program, folder.path() + "/server.conf"}, log};
        paused = false;
        // -NOAUTH is an answer as well.
        while (conversation{socket}.ask("PING", 1s).empty()) {
            if (!running.is_running() || std::chrono::steady_clock::now() > limit)
                throw std::runtime_error{
                    "private_server: " + program + " does not answer; it said:\n" +
                    last_lines_of(log)};
            ::poll(nullptr, 0, 1);
        }
    }

    void end() noexcept
    {
        running.kill();
        paused = false;
    }

    private_server_options options;
    std::string program;
    private_folder folder;
    std::string socket;
    std::string password;
    bool paused = false;
    child running;  ///< the last of all: it ends before its folder goes
};

private_server::private_server(private_server_options options)
    : process_{std::make_unique<process>(std::move(options))}
{}

private_server::~private_server() = default;

bool private_server::is_available()
{
    return !find_program("redis-server").empty() || !find_program("valkey-server").empty();
}

std::string private_server::url() const
{
    constexpr char const* digits = "0123456789ABCDEF";
    std::string made = "unix://";
    for (char const each : process_->socket) {
        auto const code = static_cast<unsigned char>(each);
        if (std::isalnum(code) || std::strchr("/-._~", each))
            made += each;
        else
            made += {'%', digits[code / 16], digits[code % 16]};
    }
    return made;
}

config private_server::settings() const
{
    config found;
    found.addresses = {address{.unix_socket = process_->socket}};
    found.password = process_->password;
    return found;
}

std::string const& private_server::socket() const noexcept { return process_->socket; }

void private_server::flush()
{
    conversation with{process_->socket};
    if (!process_->password.empty())
        with.ask("AUTH " + in_quotes(process_->password), 5s);
    if (auto const said = with.ask("FLUSHALL", 5s); said != "+OK")
        throw std::runtime_error{
            "private_server: FLUSHALL at " + process_->socket + ": " +
            (said.empty() ? "no answer; is it stopped or paused?" : said)};
}

void private_server::stop()
{
    resume();
    process_->running.signal(SIGTERM);
    process_->running.wait(5s);
    process_->end();
}

void private_server::kill() { process_->end(); }

void private_server::start() { process_->start(); }

void private_server::restart()
{
    kill();
    start();
}

void private_server::pause()
{
    process_->running.signal(SIGSTOP);
    process_->paused = true;
}

void private_server::resume()
{
    process_->running.signal(SIGCONT);
    process_->paused = false;
}

bool private_server::is_running() { return !process_->paused && process_->running.is_running(); }

}  // namespace testing
}  // namespace v0_3
}  // namespace colock
