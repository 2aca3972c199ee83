// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "support/tls_files.hpp"

#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <arpa/inet.h>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <stdexcept>
#include <stdlib.h>
#include <unistd.h>

namespace colock::test {

namespace fs = std::filesystem;

namespace {

template <auto function>
struct freed_by {
    template <class T>
    void operator()(T* it) const noexcept
    {
        function(it);
    }
};

using key_ptr = std::unique_ptr<EVP_PKEY, freed_by<&EVP_PKEY_free>>;
using certificate_ptr = std::unique_ptr<X509, freed_by<&X509_free>>;
using extension_ptr = std::unique_ptr<X509_EXTENSION, freed_by<&X509_EXTENSION_free>>;
using file_ptr = std::unique_ptr<std::FILE, freed_by<&std::fclose>>;

void require(bool ok, char const* what)
{
    if (ok)
        return;
    char why[256];
    ERR_error_string_n(ERR_get_error(), why, sizeof why);
    throw std::runtime_error{"tls_files: " + std::string{what} + ": " + why};
}

struct identity {
    key_ptr key;
    certificate_ptr certificate;
};

void extend(X509* certificate, X509* issuer, int what, std::string const& value)
{
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
    extension_ptr const extension{X509V3_EXT_conf_nid(nullptr, &context, what, value.c_str())};
    require(extension && X509_add_ext(certificate, extension.get(), -1) == 1, value.c_str());
}

void name_it(X509* certificate, std::string const& name, X509* issuer)
{
    auto* const subject = X509_get_subject_name(certificate);
    auto const* const text = reinterpret_cast<unsigned char const*>(name.c_str());
    require(
        X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, text, -1, -1, 0) == 1 &&
            X509_set_issuer_name(certificate, X509_get_subject_name(issuer)) == 1,
        "name"
    );
}

/// Without extensions or a signature. No issuer: it is its own.
identity unsigned_identity(std::string const& name, identity const* issuer)
{
    identity made{key_ptr{EVP_EC_gen("P-256")}, certificate_ptr{X509_new()}};
    require(made.key && made.certificate, "key");
    auto* const it = made.certificate.get();
    static long serial = 1'000;
    constexpr long hour = 3'600;
    require(
        X509_set_version(it, 2) == 1 &&  // which is 3
            ASN1_INTEGER_set(X509_get_serialNumber(it), ++serial) == 1 &&
            X509_gmtime_adj(X509_getm_notBefore(it), -hour) &&
            X509_gmtime_adj(X509_getm_notAfter(it), 24 * hour) &&
            X509_set_pubkey(it, made.key.get()) == 1,
        "certificate"
    );
    name_it(it, name, issuer ? issuer->certificate.get() : it);
    return made;
}

void sign(identity const& it, identity const& issuer)
{
    require(X509_sign(it.certificate.get(), issuer.key.get(), EVP_sha256()) != 0, "signature");
}

identity authority(std::string const& name)
{
    auto made = unsigned_identity(name, nullptr);
    auto* const it = made.certificate.get();
    extend(it, it, NID_basic_constraints, "critical,CA:TRUE");
    extend(it, it, NID_key_usage, "critical,keyCertSign,cRLSign");
    extend(it, it, NID_subject_key_identifier, "hash");
    sign(made, made);
    return made;
}

/// `usage` is serverAuth or clientAuth.
identity leaf(
    identity const& ca, std::string const& name, std::string const& usage, std::string const& names
)
{
    auto made = unsigned_identity(name, &ca);
    auto* const it = made.certificate.get();
    auto* const issuer = ca.certificate.get();
    extend(it, issuer, NID_basic_constraints, "critical,CA:FALSE");
    extend(it, issuer, NID_key_usage, "critical,digitalSignature");
    extend(it, issuer, NID_ext_key_usage, usage);
    extend(it, issuer, NID_subject_key_identifier, "hash");
    extend(it, issuer, NID_authority_key_identifier, "keyid:always");
    if (!names.empty())
        extend(it, issuer, NID_subject_alt_name, names);
    sign(made, ca);
    return made;
}

bool is_address(std::string const& name)
{
    in6_addr parsed;
    return ::inet_pton(AF_INET, name.c_str(), &parsed) == 1 ||
        ::inet_pton(AF_INET6, name.c_str(), &parsed) == 1;
}

/// As OpenSSL's configuration files spell them.
std::string alternatives(std::vector<std::string> const& names)
{
    std::string all;
    for (auto const& name : names)
        all += (all.empty() ? "" : ",") + std::string{is_address(name) ? "IP:" : "DNS:"} + name;
    return all;
}

file_ptr open(std::string const& path)
{
    file_ptr file{std::fopen(path.c_str(), "we")};
    require(file != nullptr, path.c_str());
    return file;
}

void write(identity const& it, std::string const& certificate, std::string const& key)
{
    require(PEM_write_X509(open(certificate).get(), it.certificate.get()) == 1, "write");
    if (!key.empty()) {
        auto const file = open(key);
        auto* const secret = it.key.get();
        bool const ok =
            PEM_write_PrivateKey(file.get(), secret, nullptr, nullptr, 0, nullptr, nullptr) == 1;
        require(ok, "write");
    }
}

void write_encrypted(identity const& it, std::string const& key)
{
    auto const file = open(key);
    unsigned char const passphrase[] = "passphrase";
    auto const* const cipher = EVP_aes_256_cbc();
    auto* const secret = it.key.get();
    bool const ok =
        PEM_write_PrivateKey(file.get(), secret, cipher, passphrase, 10, nullptr, nullptr) == 1;
    require(ok, "write");
}

/// For the key of `like`, and over since a minute ago.
void expire(identity const& it, identity const& like, identity const& issuer)
{
    auto* const certificate = it.certificate.get();
    require(
        X509_gmtime_adj(X509_getm_notAfter(certificate), -60) &&
            X509_set_pubkey(certificate, like.key.get()) == 1,
        "expire"
    );
    sign(it, issuer);
}

std::string new_folder()
{
    auto pattern = (fs::temp_directory_path() / "colock-tls-XXXXXX").string();
    if (!::mkdtemp(pattern.data()))
        throw std::runtime_error{"tls_files: no temporary folder " + pattern};
    return pattern;
}

void remove_folder(std::string const& folder) noexcept
{
    std::error_code ignored;
    fs::remove_all(folder, ignored);
}

}  // namespace

tls_files::tls_files(std::vector<std::string> const& names) : folder_{new_folder()}
{
    try {
        auto const signs = authority("colock tests");
        write(signs, ca, {});
        write(authority("colock tests, unrelated"), other_ca, {});
        auto const server = leaf(signs, "server", "serverAuth", alternatives(names));
        write(server, server_certificate, server_key);
        auto const client = leaf(signs, "client", "clientAuth", {});
        write(client, client_certificate, client_key);
        write_encrypted(client, encrypted_key);
        auto const late = leaf(signs, "server", "serverAuth", alternatives(names));
        expire(late, server, signs);
        write(late, expired_certificate, {});
    } catch (...) {
        remove_folder(folder_);
        throw;
    }
}

tls_files::~tls_files() { remove_folder(folder_); }

std::vector<std::string> tls_lines(
    tls_files const& files, std::uint16_t tls_port, client_certificates clients
)
{
    auto const* const wanted = clients == client_certificates::demanded ? "yes"
        : clients == client_certificates::optional                      ? "optional"
                                                                        : "no";
    return {
        "tls-port " + std::to_string(tls_port),
        "tls-cert-file " + files.server_certificate,
        "tls-key-file " + files.server_key,
        "tls-ca-cert-file " + files.ca,
        "tls-auth-clients " + std::string{wanted},
    };
}

}  // namespace colock::test
