#include "redis/tls_session.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/ssl/error.hpp>
#include <openssl/bio.h>
#include <openssl/err.h>

#include <new>

namespace colock {

namespace asio = boost::asio;

namespace {

SSL* new_client(tls& with)
{
    ::ERR_clear_error();
    auto* const made = ::SSL_new(with.context());
    if (!made)
        throw std::bad_alloc{};
    ::SSL_set_connect_state(made);
    ::SSL_set_mode(made, SSL_MODE_RELEASE_BUFFERS);
    return made;
}

/// Gives what was written to it. To be empty is not its end.
BIO* new_memory()
{
    auto* const made = ::BIO_new(::BIO_s_mem());
    if (!made)
        throw std::bad_alloc{};
    BIO_set_mem_eof_return(made, -1);
    return made;
}

std::size_t room_of(BIO* memory) noexcept
{
    BUF_MEM* inside = nullptr;
    BIO_get_mem_ptr(memory, &inside);
    return inside ? inside->max : 0;
}

/// Whether it is empty and has room for more than that, which it would keep.
bool is_spare(BIO* memory, std::size_t most) noexcept
{
    return BIO_ctrl_pending(memory) == 0 && room_of(memory) > most;
}

}  // namespace

tls_session::tls_session(tls& with, address const& where, std::string& complaint)
    : ssl_{new_client(with)}
    , in_{new_memory()}
    , out_{nullptr}
{
    ::SSL_set0_rbio(ssl_.get(), in_);
    out_ = new_memory();
    ::SSL_set0_wbio(ssl_.get(), out_);
    refused_ = with.prepare(ssl_.get(), where, complaint);
}

void tls_session::receive(std::string_view bytes)
{
    if (bytes.empty())  // older versions of OpenSSL would call that a failure
        return;
    std::size_t written = 0;
    if (::BIO_write_ex(in_, bytes.data(), bytes.size(), &written) != 1)
        throw std::bad_alloc{};
}

error_code tls_session::shake_hands()
{
    ::ERR_clear_error();
    return error_of(::SSL_do_handshake(ssl_.get()));
}

std::size_t tls_session::read(std::span<char> room, error_code& ec)
{
    ::ERR_clear_error();
    std::size_t read = 0;
    ec = error_of(::SSL_read_ex(ssl_.get(), room.data(), room.size(), &read));
    return read;
}

error_code tls_session::write(std::string_view bytes)
{
    ::ERR_clear_error();
    std::size_t written = 0;
    auto const ec = error_of(::SSL_write_ex(ssl_.get(), bytes.data(), bytes.size(), &written));
    return !ec && written != bytes.size() ? asio::ssl::error::unexpected_result : ec;
}

void tls_session::take_output(std::string& into)
{
    into.resize(BIO_ctrl_pending(out_));
    std::size_t read = 0;
    if (!into.empty())
        ::BIO_read_ex(out_, into.data(), into.size(), &read);
    into.resize(read);
}

void tls_session::shrink(std::size_t most)
{
    if (is_spare(out_, most)) {
        out_ = new_memory();
        ::SSL_set0_wbio(ssl_.get(), out_);
    }
    if (is_spare(in_, most)) {
        in_ = new_memory();
        ::SSL_set0_rbio(ssl_.get(), in_);
    }
}

std::size_t tls_session::capacity() const noexcept { return room_of(in_) + room_of(out_); }

// To want more is no error: the connection brings it, or ends. Memory takes all that is written.
error_code tls_session::error_of(int result) const noexcept
{
    if (result > 0)
        return {};
    switch (::SSL_get_error(ssl_.get(), result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE: return {};
    case SSL_ERROR_ZERO_RETURN: return asio::error::eof;
    case SSL_ERROR_SSL:
        return {static_cast<int>(::ERR_get_error()), asio::error::get_ssl_category()};
    default: return asio::ssl::error::unexpected_result;
    }
}

}  // namespace colock
