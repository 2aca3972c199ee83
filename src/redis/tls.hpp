#pragma once

#include <colock/config.hpp>
#include <colock/error.hpp>

#include <openssl/ssl.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace colock {

/// The TLS settings that the connections of a client share: trusted authorities and the client's
/// certificate.
class tls {
public:
    explicit tls(tls_options options);

    /// Reads the files if it has not, or if one of them has changed since. Logs which file can't be
    /// used, and why. The files that were read before stay in use then, with a warning and no
    /// error. Connections under way keep what they began with.
    error_code load(logger const& log);

    /// For connections. `load` must have succeeded.
    SSL_CTX* context() noexcept { return context_.get(); }

    /// Prepares a connection to this server. Its certificate must have the server's name, which is
    /// also sent as SNI. The reason of a refused certificate is written to `complaint`, which must
    /// outlive the connection. On an error such a name can't be checked, so do not connect.
    error_code prepare(SSL* connection, address const& where, std::string& complaint) const;

    /// The text for the log if one side refuses the other and waiting does not help; otherwise
    /// empty.
    std::string refusal(error_code, std::string_view complaint, address const& where) const;

private:
    /// The version of the files: place, size and time of change of each.
    using version = std::vector<std::uint64_t>;

    version version_of_files() const;
    std::string read_files(SSL_CTX*) const;
    std::string const& name_of(address const&) const noexcept;

    tls_options options_;
    struct freed {
        void operator()(SSL_CTX* c) const noexcept { ::SSL_CTX_free(c); }
    };
    std::unique_ptr<SSL_CTX, freed> context_;
    version tried_;  ///< the last that was read, perhaps in vain
};

/// The possible cause if a connection ended before the server's first answer because only one side
/// speaks TLS; empty for other errors. `in_handshake`: during that of TLS.
std::string_view tls_hint(error_code, bool with_tls, bool in_handshake) noexcept;

}  // namespace colock
