// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace colock::test {

/// Keys and certificates for a test, in a temporary folder that goes with this object: PEM, P-256,
/// valid from an hour ago until tomorrow.
class tls_files {
public:
    /// `names` are what the server's certificate is for: host names, and addresses as they are
    /// written.
    explicit tls_files(std::vector<std::string> const& names = {"localhost", "127.0.0.1"});
    tls_files(tls_files const&) = delete;
    tls_files& operator=(tls_files const&) = delete;
    ~tls_files();

private:
    std::string folder_;

public:
    std::string const ca = folder_ + "/ca.crt";  ///< has signed both of these
    std::string const server_certificate = folder_ + "/server.crt";
    std::string const server_key = folder_ + "/server.key";
    std::string const client_certificate = folder_ + "/client.crt";
    std::string const client_key = folder_ + "/client.key";
    std::string const expired_certificate = folder_ + "/expired.crt";  ///< of the server's key
    std::string const encrypted_key = folder_ + "/encrypted.key";      ///< the client's
    std::string const other_ca = folder_ + "/other-ca.crt";            ///< has signed nothing
};

enum class client_certificates { unasked, optional, demanded };

/// What makes a server listen for TLS too.
std::vector<std::string> tls_lines(
    tls_files const&, std::uint16_t tls_port, client_certificates = client_certificates::optional
);

}  // namespace colock::test
