#pragma once

#include <colock/config.hpp>
#include <colock/error.hpp>

#include <boost/asio/ssl/context.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace colock {

/// What the connections of a client share of TLS: whom they trust, and what they show.
class tls {
public:
    explicit tls(tls_options options);

    /// Reads the files, once: the authorities of a system take tens of milliseconds. Logs which
    /// file can't be used, and why.
    error_code load(logger const& log);

    /// For streams. `load` must have succeeded.
    boost::asio::ssl::context& context() noexcept { return *context_; }

    /// Prepares a connection to this host: the name that the server's certificate must have, if
    /// `tls_options::server_name` names no other, and that is sent as SNI. Why a certificate is
    /// refused is written to `complaint`, which must outlive the connection. An error: nothing can
    /// be checked for such a host, so nobody must connect to it.
    error_code prepare(SSL* connection, std::string const& host, std::string& complaint) const;

    /// What to tell people when one side of a connection to the host refuses the other and waiting
    /// won't mend it; else empty.
    std::string refusal(error_code, std::string_view complaint, std::string const& host) const;

private:
    std::string read_files(SSL_CTX*) const;
    std::string const& name_of(std::string const& host) const noexcept;

    tls_options options_;
    std::optional<boost::asio::ssl::context> context_;
};

/// What may be behind this error of a connection that ended before the server's first answer, when
/// only one side speaks TLS; empty if it is something else. `in_handshake`: during that of TLS.
std::string_view tls_hint(error_code, bool with_tls, bool in_handshake) noexcept;

}  // namespace colock
