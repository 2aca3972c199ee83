#include "base/log.hpp"
#include "redis/tls.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/ssl/error.hpp>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <filesystem>
#include <new>
#include <sys/stat.h>
#include <system_error>
#include <utility>

namespace colock {

namespace asio = boost::asio;

namespace {

/// The place where a connection keeps the text about its refused certificate.
int complaint_index()
{
    static int const index = ::SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, nullptr);
    return index;
}

// Only notes the reason; OpenSSL decides.
int on_verdict(int is_good, X509_STORE_CTX* store)
{
    if (is_good)
        return is_good;
    auto* const connection = static_cast<SSL const*>(
        ::X509_STORE_CTX_get_ex_data(store, ::SSL_get_ex_data_X509_STORE_CTX_idx())
    );
    int const why = ::X509_STORE_CTX_get_error(store);
    auto& to = *static_cast<std::string*>(::SSL_get_ex_data(connection, complaint_index()));
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

/// There is nobody to ask for a passphrase; without this, OpenSSL asks on the terminal.
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

/// The host that the certificate is checked for and that is sent as SNI; "": none.
bool set_host(SSL* connection, std::string const& name)
{
    error_code not_an_address;
    auto const ip = asio::ip::make_address(name, not_an_address);
    auto* const check = ::SSL_get0_param(connection);
    ::X509_VERIFY_PARAM_set_hostflags(check, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    if (not_an_address)
        return ::X509_VERIFY_PARAM_set1_host(check, name.data(), name.size()) == 1 &&
            (name.empty() || ::SSL_set_tlsext_host_name(connection, name.c_str()) == 1);
    if (ip.is_v4())
        return ::X509_VERIFY_PARAM_set1_ip(check, ip.to_v4().to_bytes().data(), 4) == 1;
    return ::X509_VERIFY_PARAM_set1_ip(check, ip.to_v6().to_bytes().data(), 16) == 1;
}

}  // namespace

tls::tls(tls_options options) : options_{std::move(options)} {}

error_code tls::load(logger const& log)
{
    // Before the files are read, so that a change during that is seen the next time.
    auto current = version_of_files();
    if (context_ && current == tried_)
        return {};
    tried_ = std::move(current);
    ::ERR_clear_error();
    decltype(context_) fresh{::SSL_CTX_new(::TLS_client_method())};
    if (!fresh)
        throw std::bad_alloc{};
    ::SSL_CTX_set_min_proto_version(fresh.get(), TLS1_2_VERSION);
    // A server could let a write wait for another handshake.
    ::SSL_CTX_set_options(fresh.get(), SSL_OP_NO_RENEGOTIATION);
    ::SSL_CTX_set_verify(
        fresh.get(), options_.verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, &on_verdict
    );
    auto const complaint = read_files(fresh.get());
    ::SSL_CTX_set_default_passwd_cb_userdata(fresh.get(), nullptr);
    ::ERR_clear_error();  // a system without authorities leaves errors that are not ours
    if (!complaint.empty() && context_) {
        write_log(
            log,
            log_level::warning,
            "a changed file can't be used, what was read before stays in use: tls." + complaint +
                ". Remedy: a file that can be used, moved to its place in one step"
        );
        return {};
    }
    if (!complaint.empty()) {
        write_log(log, log_level::error, "config: tls." + complaint);
        return error::invalid_tls;
    }
    context_ = std::move(fresh);
    return {};
}

tls::version tls::version_of_files() const
{
    version found;
    for (auto const* file :
         {&options_.ca_file, &options_.certificate_file, &options_.private_key_file}) {
        struct stat now {};
        if (file->empty() || ::stat(file->c_str(), &now) != 0)
            now = {};
        found.push_back(now.st_dev);
        found.push_back(now.st_ino);
        found.push_back(static_cast<std::uint64_t>(now.st_size));
        // Finer than a second, for which each system's stat has a name of its own.
        std::error_code none;
        auto const changed = std::filesystem::last_write_time(*file, none);
        found.push_back(static_cast<std::uint64_t>(changed.time_since_epoch().count()));
    }
    return found;
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

std::string const& tls::name_of(address const& where) const noexcept
{
    if (!where.server_name.empty())
        return where.server_name;
    return options_.server_name.empty() ? where.host : options_.server_name;
}

error_code tls::prepare(SSL* connection, address const& where, std::string& complaint) const
{
    auto const& name = name_of(where);
    // OpenSSL does not check a name that it does not accept.
    bool const is_set = ::SSL_set_ex_data(connection, complaint_index(), &complaint) == 1 &&
        set_host(connection, name);
    complaint = is_set ? ""
                       : "no certificate can be checked for such a name. Remedy: the server's "
                         "name in tls.server_name";
    return is_set ? error_code{} : error::tls_refused;
}

std::string tls::refusal(error_code ec, std::string_view complaint, address const& where) const
{
    auto const& name = name_of(where);
    if (ec == error::tls_refused || has_failed(ec, SSL_R_CERTIFICATE_VERIFY_FAILED))
        return "the certificate is refused as that of \"" + name + "\": " + std::string{complaint};
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

std::string_view tls_hint(error_code ec, bool with_tls, bool in_handshake) noexcept
{
    bool const is_cut = ec == asio::error::eof || ec == asio::error::connection_reset ||
        ec == asio::error::broken_pipe || ec == asio::ssl::error::stream_truncated;
    if (!with_tls && (is_cut || ec == error::bad_reply))
        return "; if the port is one for TLS: rediss://";
    if (with_tls && in_handshake && ec == asio::error::timed_out)
        return "; if the port is one without TLS: redis://";
    if (with_tls && is_cut)
        return "; perhaps the port is one without TLS, or wants tls.certificate_file";
    return {};
}

}  // namespace colock
