// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "support/tls_files.hpp"
#include <colock/error.hpp>

#include <boost/asio/error.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/test/unit_test.hpp>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <array>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace colock::test {

/// The server's side of a TLS connection, without I/O.
class tls_peer {
public:
    explicit tls_peer(tls_files const& files)
    {
        BOOST_REQUIRE(
            ::SSL_CTX_use_certificate_chain_file(
                context_.get(), files.server_certificate.c_str()
            ) == 1
        );
        BOOST_REQUIRE(
            ::SSL_CTX_use_PrivateKey_file(
                context_.get(), files.server_key.c_str(), SSL_FILETYPE_PEM
            ) == 1
        );
        ssl_.reset(::SSL_new(context_.get()));
        in_ = ::BIO_new(::BIO_s_mem());
        out_ = ::BIO_new(::BIO_s_mem());
        ::SSL_set_bio(ssl_.get(), in_, out_);
        ::SSL_set_accept_state(ssl_.get());
    }

    void receive(std::string_view bytes)
    {
        ::BIO_write(in_, bytes.data(), static_cast<int>(bytes.size()));
    }
    error_code shake_hands()
    {
        ::ERR_clear_error();
        auto const result = ::SSL_do_handshake(ssl_.get());
        if (result == 1 || ::SSL_get_error(ssl_.get(), result) == SSL_ERROR_WANT_READ)
            return {};
        return {static_cast<int>(::ERR_get_error()), boost::asio::error::get_ssl_category()};
    }
    bool is_established() const { return ::SSL_is_init_finished(ssl_.get()) == 1; }

    /// The name that the client has asked for.
    std::string sni() const
    {
        auto const* const name = ::SSL_get_servername(ssl_.get(), TLSEXT_NAMETYPE_host_name);
        return name ? name : "";
    }

    /// All that the client has said.
    std::string read()
    {
        std::string all;
        std::array<char, 4'096> some{};
        std::size_t n = 0;
        while (::SSL_read_ex(ssl_.get(), some.data(), some.size(), &n) == 1)
            all.append(some.data(), n);
        return all;
    }

    /// In a record of its own.
    void write(std::string_view bytes)
    {
        std::size_t written = 0;
        BOOST_REQUIRE(::SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &written) == 1);
    }

    /// Changes its key, and asks the client to change its own.
    void update_keys()
    {
        BOOST_REQUIRE(::SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_REQUESTED) == 1);
    }
    void say_goodbye() { ::SSL_shutdown(ssl_.get()); }

    /// What is to go to the client.
    std::string take_output()
    {
        std::string all(BIO_ctrl_pending(out_), '\0');
        if (!all.empty())
            ::BIO_read(out_, all.data(), static_cast<int>(all.size()));
        return all;
    }

private:
    struct freed {
        void operator()(SSL* s) const { ::SSL_free(s); }
        void operator()(SSL_CTX* c) const { ::SSL_CTX_free(c); }
    };
    std::unique_ptr<SSL_CTX, freed> context_{::SSL_CTX_new(::TLS_server_method())};
    std::unique_ptr<SSL, freed> ssl_;
    BIO* in_ = nullptr;
    BIO* out_ = nullptr;
};

}  // namespace colock::test
