#include <colock/error.hpp>

#include <string>

namespace colock {

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
        return "too few replicas have acknowledged the lock, so it was released; look at the "
               "replicas, or ask for fewer";
    case error::no_quorum:
        return "a majority of the servers could not be locked; look at those that don't answer";
    case error::subscription_failed:
        return "the server refused a subscription; waiting goes on by lease and poll cap";
    case error::server_refused: return "the server refused a command; its text is in the log";
    case error::unavailable:
        return "no connection to Redis came up in time; check the address, and the log for the "
               "reason";
    case error::bad_reply:
        return "the server's answer is none of this script; is it Redis or Valkey?";
    case error::unsupported:
        return "the server lacks or refuses WAIT, which sync_replicas needs; allow the user +wait";
    case error::invalid_url_scheme:
        return "the URL's scheme is unknown; use redis://, rediss://, unix:// or one with "
               "+sentinel or "
               "+cluster";
    case error::invalid_url_credentials:
        return "the URL's user or password has a % without two hexadecimal digits";
    case error::invalid_url_host: return "the URL names no valid host";
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
    }
    return "unknown colock error";
}

class category final : public boost::system::error_category {
public:
    char const* name() const noexcept override { return "colock"; }
    std::string message(int value) const override { return text(static_cast<error>(value)); }
    char const* message(int value, char*, std::size_t) const noexcept override
    {
        return text(static_cast<error>(value));
    }
};

}  // namespace

boost::system::error_category const& error_category() noexcept
{
    static category const instance;
    return instance;
}

error_code make_error_code(error e) noexcept { return {static_cast<int>(e), error_category()}; }

}  // namespace colock
