#pragma once

#include "redis/tls.hpp"
#include <colock/error.hpp>

#include <openssl/ssl.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace colock {

/// One side of a TLS connection, without its I/O: what the network brings goes in by `receive`, and
/// `take_output` has what is to be sent. So a connection reads and writes its socket in one way,
/// with TLS and without.
///
/// The memory that OpenSSL needs for a record is given back when no record is in work. Errors are
/// those of Asio's SSL category.
class tls_session {
public:
    /// Of the client, to this server: see `tls::prepare`, which says what is refused.
    tls_session(tls& with, address const& where, std::string& complaint);

    /// Why no connection to this server can be made; no error if one can.
    error_code refused() const noexcept { return refused_; }

    /// The network has brought these bytes.
    void receive(std::string_view bytes);

    /// Goes on with the handshake as far as the received bytes allow. Also after an error there may
    /// be output: it tells the other side why.
    error_code shake_hands();
    bool is_established() const noexcept { return ::SSL_is_init_finished(ssl_.get()) == 1; }

    /// Decrypts into `room`, and returns how many bytes: none if more has to be received first, or
    /// after an error. The server may also have asked for an answer: see `has_output`.
    std::size_t read(std::span<char> room, error_code& ec);

    /// Encrypts.
    error_code write(std::string_view bytes);

    bool has_output() const noexcept { return BIO_ctrl_pending(out_) != 0; }

    /// Moves what is to be sent into an empty buffer.
    void take_output(std::string& into);

    /// Gives the memory of input and output back, if it is empty and has room for more than `most`.
    void shrink(std::size_t most);

    /// Bytes of memory for input and output that it keeps.
    std::size_t capacity() const noexcept;

private:
    error_code error_of(int result) const noexcept;

    struct freed {
        void operator()(SSL* s) const noexcept { ::SSL_free(s); }
    };
    std::unique_ptr<SSL, freed> ssl_;
    BIO* in_;  ///< both are the SSL's
    BIO* out_;
    error_code refused_;
};

}  // namespace colock
