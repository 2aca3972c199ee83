#include <colock/diagnostics.hpp>
#include <colock/error.hpp>
#include <colock/printable.hpp>

#include <exception>
#include <memory>
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
        return "too few copies have the step, so a lock or a permit was undone; look at the "
               "replicas, or "
               "ask for less durability";
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

/// The same for both categories of our codes, so that they compare equal.
constexpr boost::ulong_long_type category_id = 0xC010'C4E5'0B57'ACE1;

class category final : public boost::system::error_category {
public:
    constexpr category() noexcept : error_category{category_id} {}

    char const* name() const noexcept override { return "colock"; }
    std::string message(int value) const override { return text(static_cast<error>(value)); }
    char const* message(int value, char*, std::size_t) const noexcept override
    {
        return text(static_cast<error>(value));
    }
};

bool is_retryable(error e) noexcept
{
    return e == error::unavailable || e == error::not_replicated || e == error::no_quorum;
}

/// Of refusals that may pass.
boost::system::error_category const& passing_category() noexcept
{
    static category const instance;
    return instance;
}

class conditions final : public boost::system::error_category {
public:
    char const* name() const noexcept override { return "colock condition"; }
    std::string message(int) const override { return "the same call may succeed later"; }
    bool equivalent(error_code const& ec, int value) const noexcept override
    {
        return value == static_cast<int>(condition::retryable) &&
            ec.category() == colock::error_category() &&
            (is_retryable(static_cast<error>(ec.value())) || &ec.category() == &passing_category());
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

// ---- Their texts -------------------------------------------------------------------------------

namespace {

/// Words can be as long as a server likes.
constexpr std::size_t longest_words = 300;

}  // namespace

detail::failure::failure(error_code ec, std::string_view words) noexcept : error_code{ec}
{
    try {
        if (words.size() > longest_words)
            words = words.substr(0, before_character(words, longest_words));
        said = std::make_shared<std::string const>(printable(words));
    } catch (...) {
        said = nullptr;
    }
}

std::string detail::failure::text() const { return said ? *said : message(); }

detail::failure detail::refusal(
    std::string_view words, bool passing, std::string_view server
) noexcept
try {
    auto const& of = passing ? passing_category() : error_category();
    error_code const ec{static_cast<int>(error::server_refused), of};
    return {ec, std::string{server}.append(" refused a command: ").append(words)};
} catch (...) {
    return error::server_refused;
}

detail::failure detail::unavailable(std::string_view reason) noexcept
{
    return {error::unavailable, reason};
}

std::string detail::text_of(failure const& why, call_about const& about)
{
    std::string text = about.operation;
    if (auto const name = about.name.view(); !name.empty())
        text.append(text.empty() ? "" : " ").append(printable(name));
    auto words = why.text();
    if (about.server && words.find(*about.server) == std::string::npos)
        text.append(" at ").append(*about.server);
    return text.empty() ? words : text.append(": ").append(words);
}

std::exception_ptr detail::exception_of(failure const& why, call_about const& about) noexcept
try {
    if (!why)
        return nullptr;
    return std::make_exception_ptr(error_with_diagnostics{why, text_of(why, about)});
} catch (...) {  // no memory for it
    return std::current_exception();
}

diagnostics const& error_with_diagnostics::get_diagnostics() const noexcept
{
    static diagnostics const none;
    return said_ ? *said_ : none;  // none: it was moved from
}

error_with_diagnostics::error_with_diagnostics(error_code ec, std::string text) : system_error{ec}
{
    auto said = std::make_shared<diagnostics>();
    said->set(std::move(text));
    said_ = std::move(said);
}

}  // namespace v0_3
}  // namespace colock
