#include "base/log.hpp"
#include "redis/tls.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ssl/error.hpp>
#include <boost/redis/error.hpp>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <cstring>
#include <new>
#include <utility>

namespace colock {

namespace asio = boost::asio;

namespace {

/// Whom a context is for; it goes with the last connection of the context.
struct peer {
    std::string name;
    bool is_address = false;
    std::string refusal;  ///< why the last certificate was refused
};

void free_peer(void*, void* p, CRYPTO_EX_DATA*, int, long, void*) { delete static_cast<peer*>(p); }

/// An index of our own: "app data" is Asio's.
int peer_index()
{
    static int const index = ::SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, &free_peer);
    return index;
}

peer* peer_of(SSL_CTX const* context)
{
    return static_cast<peer*>(::SSL_CTX_get_ex_data(context, peer_index()));
}

// SNI belongs to each connection, and Asio makes those: this is the first moment that is ours.
void on_progress(SSL const* connection, int where, int)
{
    auto& to = *peer_of(::SSL_get_SSL_CTX(connection));
    if ((where & SSL_CB_HANDSHAKE_DONE) != 0)
        to.refusal.clear();
    if ((where & SSL_CB_HANDSHAKE_START) != 0 && !to.name.empty() && !to.is_address)
        ::SSL_set_tlsext_host_name(const_cast<SSL*>(connection), to.name.c_str());
}

// Only notes why: the verdict is OpenSSL's.
int on_verdict(int is_good, X509_STORE_CTX* store)
{
    if (is_good)
        return is_good;
    auto* const connection = static_cast<SSL const*>(
        ::X509_STORE_CTX_get_ex_data(store, ::SSL_get_ex_data_X509_STORE_CTX_idx())
    );
    int const why = ::X509_STORE_CTX_get_error(store);
    auto& to = peer_of(::SSL_get_SSL_CTX(connection))->refusal;
    to = ::X509_verify_cert_error_string(why);
    if (auto* const bad = ::X509_STORE_CTX_get_current_cert(store)) {
        char subject[256];
        ::X509_NAME_oneline(::X509_get_subject_name(bad), subject, sizeof subject);
        to.append(" (its subject: ").append(subject).append(")");
    }
    bool const is_name =
        why == X509_V_ERR_HOSTNAME_MISMATCH || why == X509_V_ERR_IP_ADDRESS_MISMATCH;
    bool const is_time = why == X509_V_ERR_CERT_HAS_EXPIRED || why == X509_V_ERR_CERT_NOT_YET_VALID;
    if (is_name)
        to += ". Remedy: the server's name in tls.server_name";
    else if (!is_time)
        to += ". Remedy: the authority that has signed it in tls.ca_file";
    return is_good;
}

/// There is nobody to ask: without this, OpenSSL asks on the terminal.
int refuse_password(char*, int, int, void* asked)
{
    *static_cast<bool*>(asked) = true;
    return 0;
}

/// The first error of the queue, which is the cause of the others.
std::string first_error()
{
    auto const code = ::ERR_get_error();
    ::ERR_clear_error();
    if (ERR_GET_LIB(code) == ERR_LIB_SYS)
        return std::strerror(ERR_GET_REASON(code));
    char const* const reason = ::ERR_reason_error_string(code);
    return reason ? reason : "unknown error";
}

bool has_failed(error_code ec, int reason) noexcept
{
    return ec.category() == asio::error::get_ssl_category() &&
        ERR_GET_REASON(static_cast<unsigned>(ec.value())) == reason;
}

template <class... Reasons>
bool is_any_of(error_code ec, Reasons... reasons) noexcept
{
    return (has_failed(ec, reasons) || ...);
}

}  // namespace

void tls::free_context::operator()(SSL_CTX* c) const noexcept { ::SSL_CTX_free(c); }

tls::tls(tls_options options) : options_{std::move(options)} {}

error_code tls::load(logger const& log)
{
    if (loaded_)
        return {};
    ::ERR_clear_error();
    handle fresh{::SSL_CTX_new(::TLS_client_method())};
    if (!fresh)
        throw std::bad_alloc{};
    auto const complaint = read_files(fresh.get());
    ::ERR_clear_error();  // a system without authorities leaves some, and they are not ours
    if (!complaint.empty()) {
        write_log(log, log_level::error, "config: tls." + complaint);
        return error::invalid_tls;
    }
    loaded_ = std::move(fresh);
    return {};
}

std::string tls::read_files(SSL_CTX* into) const
{
    auto const& o = options_;
    bool is_encrypted = false;
    ::SSL_CTX_set_default_passwd_cb(into, &refuse_password);
    ::SSL_CTX_set_default_passwd_cb_userdata(into, &is_encrypted);

    if (!o.ca_file.empty()) {
        if (::SSL_CTX_load_verify_locations(into, o.ca_file.c_str(), nullptr) != 1)
            return "ca_file " + o.ca_file + ": " + first_error();
    } else if (o.verify && ::SSL_CTX_set_default_verify_paths(into) != 1)
        return "ca_file: the system's authorities: " + first_error();

    if (o.certificate_file.empty())
        return {};
    if (::SSL_CTX_use_certificate_chain_file(into, o.certificate_file.c_str()) != 1)
        return "certificate_file " + o.certificate_file + ": " + first_error();
    auto const& key = o.private_key_file;
    if (::SSL_CTX_use_PrivateKey_file(into, key.c_str(), SSL_FILETYPE_PEM) != 1 ||
        ::SSL_CTX_check_private_key(into) != 1)
        return "private_key_file " + key + ": " +
            (is_encrypted ? "it is encrypted; colock reads only keys that are not"
                          : first_error() + " (with certificate_file " + o.certificate_file + ")");
    return {};
}

std::string const& tls::name_of(std::string const& host) const noexcept
{
    return options_.server_name.empty() ? host : options_.server_name;
}

asio::ssl::context tls::context_for(std::string const& host)
{
    auto const& name = name_of(host);
    auto at = by_name_.find(name);
    if (at == by_name_.end())
        at = by_name_.emplace(name, make_context(name)).first;
    ::SSL_CTX_up_ref(at->second.get());
    return asio::ssl::context{at->second.get()};
}

tls::handle tls::make_context(std::string const& name) const
{
    handle made{::SSL_CTX_new(::TLS_client_method())};
    if (!made)
        throw std::bad_alloc{};
    auto* const c = made.get();
    auto* const from = loaded_.get();
    ::SSL_CTX_set_min_proto_version(c, TLS1_2_VERSION);
    ::SSL_CTX_set1_cert_store(c, ::SSL_CTX_get_cert_store(from));
    if (auto* const certificate = ::SSL_CTX_get0_certificate(from)) {
        STACK_OF(X509)* chain = nullptr;
        ::SSL_CTX_get0_chain_certs(from, &chain);
        ::SSL_CTX_use_certificate(c, certificate);
        ::SSL_CTX_set1_chain(c, chain);
        ::SSL_CTX_use_PrivateKey(c, ::SSL_CTX_get0_privatekey(from));
    }

    auto whom = std::make_unique<peer>();
    whom->name = name;
    error_code not_an_address;
    auto const ip = asio::ip::make_address(name, not_an_address);
    whom->is_address = !not_an_address;
    auto* const check = ::SSL_CTX_get0_param(c);
    if (!whom->is_address)
        ::X509_VERIFY_PARAM_set1_host(check, name.data(), name.size());
    else if (ip.is_v4())
        ::X509_VERIFY_PARAM_set1_ip(check, ip.to_v4().to_bytes().data(), 4);
    else
        ::X509_VERIFY_PARAM_set1_ip(check, ip.to_v6().to_bytes().data(), 16);
    ::X509_VERIFY_PARAM_set_hostflags(check, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);

    if (::SSL_CTX_set_ex_data(c, peer_index(), whom.get()) != 1)
        throw std::bad_alloc{};
    static_cast<void>(whom.release());  // it is the context's now
    ::SSL_CTX_set_info_callback(c, &on_progress);
    ::SSL_CTX_set_verify(c, options_.verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, &on_verdict);
    return made;
}

std::string tls::refusal(error_code ec, std::string_view log, std::string const& host) const
{
    auto const& name = name_of(host);
    // Of several Sentinels, what is wrong with each is in the line alone.
    if (has_failed(ec, SSL_R_CERTIFICATE_VERIFY_FAILED) ||
        (ec == boost::redis::error::sentinel_resolve_failed &&
         log.find("certificate verify failed") != log.npos)) {
        auto const known = by_name_.find(name);
        return "the certificate is refused as that of \"" + name + "\": " +
            (known == by_name_.end() ? std::string{} : peer_of(known->second.get())->refusal);
    }
    if (is_any_of(
            ec,
            SSL_R_WRONG_VERSION_NUMBER,
            SSL_R_PACKET_LENGTH_TOO_LONG,
            SSL_R_HTTP_REQUEST,
            SSL_R_UNKNOWN_PROTOCOL
        ))
        return "the port does not speak TLS (" + ec.message() +
            "). Remedy: the port for TLS, or redis:// without TLS";
    if (is_any_of(ec, SSL_R_TLSV1_ALERT_PROTOCOL_VERSION, SSL_R_UNSUPPORTED_PROTOCOL))
        return "the server speaks no version of TLS from 1.2 on (" + ec.message() + ")";
    if (has_failed(ec, SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED) ||
        (has_failed(ec, SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE) && options_.certificate_file.empty()))
        return "the server wants a certificate of the client's (" + ec.message() +
            "). Remedy: tls.certificate_file and tls.private_key_file";
    if (is_any_of(
            ec,
            SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE,
            SSL_R_SSLV3_ALERT_BAD_CERTIFICATE,
            SSL_R_SSLV3_ALERT_UNSUPPORTED_CERTIFICATE,
            SSL_R_SSLV3_ALERT_CERTIFICATE_REVOKED,
            SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED,
            SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN,
            SSL_R_TLSV1_ALERT_UNKNOWN_CA,
            SSL_R_TLSV1_ALERT_ACCESS_DENIED,
            SSL_R_TLSV1_ALERT_DECRYPT_ERROR
        ))
        return "the server refuses the certificate in tls.certificate_file (" + ec.message() + ")";
    if (has_failed(ec, SSL_R_TLSV1_UNRECOGNIZED_NAME))
        return "the server does not know the name \"" + name + "\". Remedy: tls.server_name";
    return {};
}

std::string_view tls_hint(error_code ec, bool with_tls) noexcept
{
    namespace redis = boost::redis;
    bool const is_cut = ec == asio::error::eof || ec == asio::error::connection_reset ||
        ec == asio::error::broken_pipe || ec == asio::ssl::error::stream_truncated;
    if (!with_tls && (is_cut || ec == redis::error::invalid_data_type))
        return "; if the port is one for TLS: rediss://";
    if (with_tls && ec == redis::error::ssl_handshake_timeout)
        return "; if the port is one without TLS: redis://";
    if (with_tls && is_cut)
        return "; perhaps the port is one without TLS, or wants tls.certificate_file";
    return {};
}

}  // namespace colock
