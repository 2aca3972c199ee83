// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A small blocking TLS client.
#include "support/tls_files.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <memory>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

namespace colock::test {

namespace {

struct connected_socket {
    explicit connected_socket(std::uint16_t port)
    {
        timeval const limit{5, 0};
        ::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        sockaddr_in where{};
        where.sin_family = AF_INET;
        where.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        where.sin_port = htons(port);
        ok = ::connect(fd, reinterpret_cast<sockaddr*>(&where), sizeof where) == 0;
    }
    connected_socket(connected_socket const&) = delete;
    connected_socket& operator=(connected_socket const&) = delete;
    ~connected_socket() { ::close(fd); }

    int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool ok = false;
};

struct ssl_free {
    void operator()(SSL_CTX* it) const noexcept { SSL_CTX_free(it); }
    void operator()(SSL* it) const noexcept { SSL_free(it); }
};

using context_ptr = std::unique_ptr<SSL_CTX, ssl_free>;
using ssl_ptr = std::unique_ptr<SSL, ssl_free>;

context_ptr context_of(tls_files const& files, std::string const& ca, bool with_certificate)
{
    context_ptr context{SSL_CTX_new(TLS_client_method())};
    bool ok = context && SSL_CTX_load_verify_locations(context.get(), ca.c_str(), nullptr) == 1;
    if (ok && with_certificate) {
        auto const& certificate = files.client_certificate;
        auto const& key = files.client_key;
        auto* const it = context.get();
        ok = SSL_CTX_use_certificate_chain_file(it, certificate.c_str()) == 1 &&
            SSL_CTX_use_PrivateKey_file(it, key.c_str(), SSL_FILETYPE_PEM) == 1;
    }
    if (!ok)
        return nullptr;
    SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
    return context;
}

std::string why(SSL* ssl)
{
    auto const verified = SSL_get_verify_result(ssl);
    if (verified != X509_V_OK)
        return X509_verify_cert_error_string(verified);
    char const* const reason = ERR_reason_error_string(ERR_get_error());
    return reason ? reason : "the connection was closed";
}

}  // namespace

tls_answer tls_ping(
    tls_files const& files,
    std::uint16_t port,
    std::string const& ca,
    std::string const& name,
    bool with_certificate
)
{
    ERR_clear_error();
    auto const context = context_of(files, ca, with_certificate);
    ssl_ptr const ssl{context ? SSL_new(context.get()) : nullptr};
    if (!ssl)
        return {.error = "cannot be set up", .pong = {}};
    // An address isn't a host name, although it may look like one.
    auto* const it = ssl.get();
    if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(it), name.c_str()) != 1)
        SSL_set1_host(it, name.c_str());
    connected_socket const socket{port};
    if (!socket.ok)
        return {.error = "no connection", .pong = {}};
    SSL_set_fd(it, socket.fd);
    ERR_clear_error();
    std::string const ping = "PING\r\n";
    char buffer[64];
    // In TLS 1.3 the server refuses a client's certificate behind the handshake.
    if (SSL_connect(it) != 1 || SSL_write(it, ping.data(), static_cast<int>(ping.size())) <= 0)
        return {.error = why(it), .pong = {}};
    auto const got = SSL_read(it, buffer, sizeof buffer);
    if (got <= 0)
        return {.error = why(it), .pong = {}};
    std::string const said{buffer, static_cast<std::size_t>(got)};
    return {.error = {}, .pong = said.substr(0, said.find('\r'))};
}

}  // namespace colock::test
