#include <colock/error.hpp>

#include <boost/asio/error.hpp>
#include <boost/asio/ssl/error.hpp>

#include <cerrno>
#include <compare>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

namespace colock {
inline namespace v0_3 {

namespace {

char const* text(error e) noexcept
{
    switch (e) {
    case error::closed: return "the client was closed or stopped";
    case error::lost: return "the hold is lost; stop the work it protects";
    case error::not_held:
        return "there is nothing held here: empty, moved from or released; acquire first";
    case error::wrong_type: return "the key holds a value that is no lock; choose another name";
    case error::invalid_argument: return "an argument breaks its rule; nothing was sent";
    case error::not_replicated:
        return "too few copies have the step, so it was undone; look at the replicas, or ask for "
               "less durability";
    case error::no_quorum:
        return "a majority of the servers could not be locked; the log says which do not answer or "
               "do not vote yet";
    case error::subscription_failed:
        return "the server refused a subscription; waiting goes on by lease and poll cap";
    case error::server_refused: return "the server refused a command; its text is in the log";
    case error::unavailable:
        return "no connection to Redis, or no answer, came up in time; check the address, and the "
               "log for the reason";
    case error::bad_reply:
        return "the server's answer is none of this script; is it Redis or Valkey?";
    case error::unsupported:
        return "the copies that durability or sync_replicas wants can never be had; the log has "
               "the remedy";
    case error::invalid_url_scheme:
        return "the URL's scheme is unknown; use redis://, rediss://, unix:// or one with "
               "+sentinel, +cluster or +replicated";
    case error::invalid_url_credentials:
        return "the URL's user or password has a % without two hexadecimal digits";
    case error::invalid_url_host: return "the URL names no valid host, or a server of a list twice";
    case error::invalid_url_port: return "the URL's port is not a number from 1 to 65535";
    case error::invalid_url_database: return "the URL's database is not a number from 0 on";
    case error::invalid_url_path: return "the URL names no absolute path of a unix socket";
    case error::invalid_url_option: return "the URL has an option that its scheme does not know";
    case error::invalid_url_master: return "the URL names no primary after the Sentinels";
    case error::invalid_tls: return "a file of config::tls can't be used; the log says which";
    case error::tls_refused:
        return "TLS with the server came to nothing; the log says why, and what to do";
    case error::wrong_topology:
        return "the server is of another kind than the URL's scheme says; the log says which";
    case error::invalid_config:
        return "the client's config breaks a rule, so it connects to nothing; the log says which";
    case error::no_hash_tag:
        return "the braces of the name make no hash tag, which a cluster needs; pair them or leave "
               "them out";
    case error::would_deadlock:
        return "the acquire would wait for its own owner; release what that owner holds first";
    case error::claim_gone:
        return "the claim was adopted before, or its lease has ended; acquire the lock as usual";
    }
    return "unknown colock error";
}

/// The same for all categories of our codes, so that they compare equal.
constexpr boost::ulong_long_type category_id = 0xC010'C4E5'0B57'ACE1;

class category : public boost::system::error_category {
public:
    constexpr category() noexcept : error_category{category_id} {}

    char const* name() const noexcept override { return "colock"; }
    std::string message(int value) const override { return text(static_cast<error>(value)); }
    char const* message(int value, char*, std::size_t) const noexcept override
    {
        return text(static_cast<error>(value));
    }
};

/// An error with words of its own, mostly the server's. Without words it has the usual ones.
struct worded {
    error what;
    bool passing;  ///< a refusal that may pass
    std::string text;
    auto operator<=>(worded const&) const = default;
};

class worded_category final : public category {
public:
    explicit worded_category(worded const& of) : of_{of} {}

    using category::message;
    std::string message(int value) const override
    {
        return has_words(value) ? of_.text : category::message(value);
    }
    char const* message(int value, char* buffer, std::size_t size) const noexcept override
    {
        return has_words(value) ? of_.text.c_str() : category::message(value, buffer, size);
    }

    bool is_passing_refusal(int value) const noexcept { return is(value) && of_.passing; }

private:
    bool is(int value) const noexcept { return value == static_cast<int>(of_.what); }
    bool has_words(int value) const noexcept { return is(value) && !of_.text.empty(); }

    worded of_;
};

/// Codes outlive everything, so categories are kept for ever. Servers have few different words;
/// where they name keys, the limits keep that from growing. Beyond them a code keeps its condition
/// and loses its words.
class worded_codes {
public:
    boost::system::error_category const& find(worded of)
    {
        of.text = shown(of.text);
        std::scoped_lock const guard{mutex_};
        if (known_.size() >= most && !known_.contains(of))
            of.text.clear();
        auto const known = known_.find(of);
        if (known != known_.end())
            return *known->second;
        auto made = std::make_unique<worded_category const>(of);
        return *known_.emplace(std::move(of), std::move(made)).first->second;
    }

private:
    static constexpr std::size_t most = 100;
    static constexpr std::size_t longest = 300;

    /// Without what could steer a terminal.
    static std::string shown(std::string_view words)
    {
        std::string kept{words.substr(0, longest)};
        for (char& each : kept)
            if (auto const code = static_cast<unsigned char>(each); code < 0x20 || code == 0x7f)
                each = ' ';
        return kept;
    }

    std::mutex mutex_;
    std::map<worded, std::unique_ptr<worded_category const>> known_;
};

/// Of one error, because each has a limit of its own.
template <error what>
error_code code_of(bool passing, std::string text)
{
    static worded_codes& all = *new worded_codes;  // codes may be compared at any time
    return {static_cast<int>(what), all.find({what, passing, std::move(text)})};
}

bool is_retryable(error e) noexcept
{
    return e == error::unavailable || e == error::not_replicated || e == error::no_quorum;
}

/// A failure of the connection, as Asio and the system report it, or of what this machine lacks for
/// one just now.
bool is_broken_connection(error_code const& ec) noexcept
{
    namespace fault = boost::asio::error;
    for (auto const known : std::initializer_list<error_code>{
             fault::eof,
             fault::broken_pipe,
             fault::connection_aborted,
             fault::connection_refused,
             fault::connection_reset,
             fault::host_not_found,
             fault::host_not_found_try_again,
             fault::host_unreachable,
             fault::network_down,
             fault::network_reset,
             fault::network_unreachable,
             fault::no_buffer_space,
             fault::no_descriptors,
             fault::no_memory,
             fault::no_recovery,
             fault::not_connected,
             fault::timed_out,
             fault::try_again,  // a unix socket whose queue is full
             error_code{EADDRNOTAVAIL, boost::system::system_category()},
             error_code{ENFILE, boost::system::system_category()},
             error_code{
                 ENOENT, boost::system::system_category()},  // a unix socket without a server
             boost::asio::ssl::error::stream_truncated})
        if (ec == known)
            return true;
    return false;
}

class conditions final : public boost::system::error_category {
public:
    char const* name() const noexcept override { return "colock condition"; }
    std::string message(int) const override { return "the same call may succeed later"; }
    bool equivalent(error_code const& ec, int value) const noexcept override
    {
        if (value != static_cast<int>(condition::retryable))
            return false;
        if (ec.category() != colock::error_category())
            return is_broken_connection(ec);
        auto const* const has_words = dynamic_cast<worded_category const*>(&ec.category());
        return is_retryable(static_cast<error>(ec.value())) ||
            (has_words && has_words->is_passing_refusal(ec.value()));
    }
};

}  // namespace

boost::system::error_category const& error_category() noexcept
{
    static category const instance;
    return instance;
}

boost::system::error_category const& condition_category() noexcept
{
    static conditions const instance;
    return instance;
}

error_code make_error_code(error e) noexcept { return {static_cast<int>(e), error_category()}; }

boost::system::error_condition make_error_condition(condition c) noexcept
{
    return {static_cast<int>(c), condition_category()};
}

error_code detail::refusal(std::string_view words, bool passing) noexcept
{
    try {
        return code_of<error::server_refused>(
            passing, std::string{"the server refused a command: "}.append(words)
        );
    } catch (...) {
        return error::server_refused;
    }
}

error_code detail::unavailable(std::string_view reason) noexcept
{
    try {
        return code_of<error::unavailable>(false, std::string{reason});
    } catch (...) {
        return error::unavailable;
    }
}

}  // namespace v0_3
}  // namespace colock
