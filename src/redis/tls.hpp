#pragma once

#include <colock/config.hpp>
#include <colock/error.hpp>

#include <boost/asio/ssl/context.hpp>

#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace colock {

/// What the connections of a client share of TLS: whom they trust, and what they show.
///
/// Boost.Redis neither sends the server's name nor checks it. OpenSSL is told to do both, without
/// Asio's callbacks: each context of Asio's deletes them when it goes, and these are shared.
class tls {
public:
    explicit tls(tls_options options);

    /// Reads the files, once: the authorities of a system take tens of milliseconds. Logs which
    /// file can't be used, and why.
    error_code load(logger const& log);

    /// For connections to this host, if `tls_options::server_name` names no other. Shares all that
    /// was loaded, which must have succeeded.
    boost::asio::ssl::context context_for(std::string const& host);

    /// What this end of a connection to the host says to people, if one side refuses the other and
    /// waiting won't mend it; else empty. `log` is Boost.Redis's line about it.
    std::string refusal(error_code, std::string_view log, std::string const& host) const;

private:
    struct free_context {
        void operator()(SSL_CTX*) const noexcept;
    };
    using handle = std::unique_ptr<SSL_CTX, free_context>;

    std::string read_files(SSL_CTX*) const;
    handle make_context(std::string const& host) const;
    std::string const& name_of(std::string const& host) const noexcept;

    tls_options options_;
    handle loaded_;  ///< never given to Asio: the source of the others
    std::map<std::string, handle> by_name_;
};

/// What may be behind this error of a connection that ended before the server's first answer, when
/// only one side speaks TLS; empty if it is something else.
std::string_view tls_hint(error_code, bool with_tls) noexcept;

}  // namespace colock
