#include "net/server_tls.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include <string_view>

namespace berth::net {
namespace {

using BioPtr = std::unique_ptr<BIO, decltype(&BIO_free)>;
using X509Ptr = std::unique_ptr<X509, decltype(&X509_free)>;
using KeyPtr = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;

// OpenSSL looks sessions up under a name; with client certificates it insists on one.
constexpr unsigned char kSessionContext[] = "berth";

// Without it OpenSSL would ask the terminal for the password of an encrypted key.
int no_password(char*, int, int, void*) { return 0; }

BioPtr reader_of(const std::string& text) {
  return {BIO_new_mem_buf(text.data(), static_cast<int>(text.size())), BIO_free};
}

X509Ptr next_certificate(BIO* bio) {
  return {PEM_read_bio_X509(bio, nullptr, no_password, nullptr), X509_free};
}

std::string openssl_reason() {
  const unsigned long code = ERR_peek_last_error();
  ERR_clear_error();
  const char* const reason = code != 0 ? ERR_reason_error_string(code) : nullptr;
  return reason != nullptr ? reason : "no PEM block of that kind";
}

Result<> use_chain(SSL_CTX* context, const std::string& pem) {
  const auto bio = reader_of(pem);
  const auto leaf = next_certificate(bio.get());
  if (!leaf || SSL_CTX_use_certificate(context, leaf.get()) != 1) {
    return fail(Code::invalid, "the server certificate is not usable: {}", openssl_reason());
  }
  while (auto issuer = next_certificate(bio.get())) {
    if (SSL_CTX_add1_chain_cert(context, issuer.get()) != 1) {
      return fail(Code::invalid, "the certificate chain is not usable: {}", openssl_reason());
    }
  }
  ERR_clear_error();  // the end of the text shows as an error
  return {};
}

Result<> use_key(SSL_CTX* context, const Secret& pem) {
  const auto bio = reader_of(pem.reveal());
  const KeyPtr key{PEM_read_bio_PrivateKey(bio.get(), nullptr, no_password, nullptr),
                   EVP_PKEY_free};
  if (!key) return fail(Code::invalid, "the private key is not usable: {}", openssl_reason());
  if (SSL_CTX_use_PrivateKey(context, key.get()) != 1 || SSL_CTX_check_private_key(context) != 1) {
    return fail(Code::invalid, "the private key does not belong to the certificate: {}",
                openssl_reason());
  }
  return {};
}

Result<> ask_for_client_certificates(SSL_CTX* context, const std::string& ca_pem) {
  const auto bio = reader_of(ca_pem);
  int count = 0;
  while (auto authority = next_certificate(bio.get())) {
    if (X509_STORE_add_cert(SSL_CTX_get_cert_store(context), authority.get()) != 1 ||
        SSL_CTX_add_client_CA(context, authority.get()) != 1) {
      return fail(Code::invalid, "the client CA is not usable: {}", openssl_reason());
    }
    ++count;
  }
  if (count == 0) return fail(Code::invalid, "the client CA is not usable: {}", openssl_reason());
  ERR_clear_error();
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  return {};
}

std::string text_of(const X509_NAME_ENTRY* entry) {
  unsigned char* utf8 = nullptr;
  const int length = ASN1_STRING_to_UTF8(&utf8, X509_NAME_ENTRY_get_data(entry));
  if (length < 0) return {};
  std::string text(reinterpret_cast<const char*>(utf8), static_cast<std::size_t>(length));
  OPENSSL_free(utf8);
  return text;
}

std::vector<std::string> entries_of(const X509_NAME* name, int nid) {
  std::vector<std::string> values;
  for (int at = X509_NAME_get_index_by_NID(name, nid, -1); at >= 0;
       at = X509_NAME_get_index_by_NID(name, nid, at)) {
    values.push_back(text_of(X509_NAME_get_entry(name, at)));
  }
  return values;
}

}  // namespace

Result<std::shared_ptr<SSL_CTX>> make_server_tls(const ServerCertificate& certificate,
                                                 const std::string& client_ca_pem) {
  ERR_clear_error();
  std::shared_ptr<SSL_CTX> context(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  if (!context) return fail(Code::internal, "no TLS context: {}", openssl_reason());
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_options(context.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS);  // idle connections are many
  SSL_CTX_set_session_id_context(context.get(), kSessionContext, sizeof kSessionContext);
  if (auto used = use_chain(context.get(), certificate.chain_pem); !used) return pass(used);
  if (auto used = use_key(context.get(), certificate.key_pem); !used) return pass(used);
  if (!client_ca_pem.empty()) {
    auto asked = ask_for_client_certificates(context.get(), client_ca_pem);
    if (!asked) return pass(asked);
  }
  return context;
}

void identify_peer(const SSL* connection, Peer& peer) {
  const X509Ptr shown{SSL_get1_peer_certificate(connection), X509_free};
  if (!shown || SSL_get_verify_result(connection) != X509_V_OK) return;
  const X509_NAME* const subject = X509_get_subject_name(shown.get());
  auto names = entries_of(subject, NID_commonName);
  if (!names.empty()) peer.certificate_common_name = std::move(names.front());
  peer.certificate_organizations = entries_of(subject, NID_organizationName);
}

}  // namespace berth::net
