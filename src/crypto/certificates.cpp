#include "crypto/certificates.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <optional>
#include <span>

#include "base/text_memo.h"
#include "crypto/digest.h"
#include "crypto/openssl_support.h"

namespace berth::crypto {
namespace {

constexpr int kSerialBits = 127;  // RFC 5280 wants a positive number of at most 20 bytes
constexpr long kVersion3 = 2;     // counted from zero

void free_certificates(STACK_OF(X509) * list) { sk_X509_pop_free(list, X509_free); }

using Certificates = Handle<STACK_OF(X509), free_certificates>;
using Names = Handle<GENERAL_NAMES, GENERAL_NAMES_free>;
using Name = Handle<GENERAL_NAME, GENERAL_NAME_free>;
using Number = Handle<BIGNUM, BN_free>;
using Extension = Handle<X509_EXTENSION, X509_EXTENSION_free>;
using Store = Handle<X509_STORE, X509_STORE_free>;
using StoreContext = Handle<X509_STORE_CTX, X509_STORE_CTX_free>;

std::time_t seconds_of(WallTime at) {
  return std::chrono::floor<std::chrono::seconds>(at).time_since_epoch().count();
}

// ---- Reading

std::string utf8_of(const ASN1_STRING* text) {
  unsigned char* bytes = nullptr;
  const int size = ASN1_STRING_to_UTF8(&bytes, text);
  if (size < 0) {
    ERR_clear_error();
    return {};
  }
  std::string out(reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(size));
  OPENSSL_free(bytes);
  return out;
}

std::vector<std::string> subject_entries(const X509* certificate, int nid) {
  const X509_NAME* subject = X509_get_subject_name(certificate);
  std::vector<std::string> out;
  for (int at = -1; (at = X509_NAME_get_index_by_NID(subject, nid, at)) >= 0;)
    out.push_back(utf8_of(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at))));
  return out;
}

std::string common_name_of(const X509* certificate) {
  auto names = subject_entries(certificate, NID_commonName);
  return names.empty() ? std::string() : std::move(names.front());
}

// How messages call a certificate.
std::string title_of(const X509* certificate) {
  return fmt::format("certificate '{}'", common_name_of(certificate));
}

Result<WallTime> wall_time_of(const ASN1_TIME* time) {
  std::tm fields{};
  if (ASN1_TIME_to_tm(time, &fields) != 1)
    return openssl_failure(Code::invalid, "a date of the certificate cannot be read");
  const std::chrono::sys_seconds at{std::chrono::seconds{timegm(&fields)}};
  // Certificates without an end say 9999-12-31, which nanoseconds in 64 bits cannot.
  constexpr auto kFirst = std::chrono::ceil<std::chrono::seconds>(WallTime::min());
  constexpr auto kLast = std::chrono::floor<std::chrono::seconds>(WallTime::max());
  return WallTime{std::clamp(at, kFirst, kLast)};
}

std::string address_of(const ASN1_OCTET_STRING* address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const int size = ASN1_STRING_length(address);
  const int family = size == 4 ? AF_INET : size == 16 ? AF_INET6 : AF_UNSPEC;
  const char* found = inet_ntop(family, ASN1_STRING_get0_data(address), text.data(), text.size());
  return found ? found : fmt::format("(address of {} bytes)", size);
}

void read_alternative_names(const X509* certificate, CertificateInfo& info) {
  const Names names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  const int count = names ? sk_GENERAL_NAME_num(names.get()) : 0;
  for (int i = 0; i < count; ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type == GEN_DNS) info.dns_names.push_back(utf8_of(name->d.dNSName));
    if (name->type == GEN_IPADD) info.ip_addresses.push_back(address_of(name->d.iPAddress));
  }
}

// At least one.
Result<Certificates> read_certificates(std::string_view pem) {
  auto in = reader_of(pem);
  if (!in) return fail(error_of(Code::invalid, "no certificate").because(std::move(in.error())));
  Certificates list(sk_X509_new_null());
  while (X509* next = PEM_read_bio_X509(in->get(), nullptr, nullptr, nullptr))
    sk_X509_push(list.get(), next);
  const bool at_end = ERR_GET_REASON(ERR_peek_last_error()) == PEM_R_NO_START_LINE;
  if (sk_X509_num(list.get()) == 0 || !at_end)
    return openssl_failure(Code::invalid, "not a certificate in PEM");
  ERR_clear_error();
  return list;
}

X509* first_of(const Certificates& list) { return sk_X509_value(list.get(), 0); }

bool is_authority(X509* certificate) {
  return (X509_get_extension_flags(certificate) & EXFLAG_CA) != 0;
}

// ---- Writing

Result<> check_request(std::string_view common_name, WallTime not_before, Duration lifetime) {
  if (common_name.empty() || common_name.size() > kMaxNameLength)
    return fail(error_of(Code::invalid, "'{}' has {} characters, 1-{} are allowed", common_name,
                         common_name.size(), kMaxNameLength)
                    .at("common_name"));
  if (lifetime < std::chrono::seconds{1} || not_before > WallTime::max() - lifetime)
    return fail(error_of(Code::invalid,
                         "{} ns from {} is not a lifetime: at least a second, ending before 2262",
                         lifetime.count(), format_rfc3339(not_before))
                    .at("lifetime"));
  return {};
}

Result<> add_subject_entry(X509_NAME* subject, int nid, const std::string& text) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  if (X509_NAME_add_entry_by_NID(subject, nid, MBSTRING_UTF8, bytes, static_cast<int>(text.size()),
                                 -1, 0) != 1)
    return openssl_failure(Code::invalid, fmt::format("'{}' cannot be part of a subject", text));
  return {};
}

bool set_random_serial(X509* certificate) {
  const Number serial(BN_new());
  return serial && BN_rand(serial.get(), kSerialBits, BN_RAND_TOP_ONE, BN_RAND_BOTTOM_ANY) == 1 &&
         BN_to_ASN1_INTEGER(serial.get(), X509_get_serialNumber(certificate)) != nullptr;
}

bool set_validity(X509* certificate, WallTime not_before, Duration lifetime) {
  return ASN1_TIME_set(X509_getm_notBefore(certificate), seconds_of(not_before)) &&
         ASN1_TIME_set(X509_getm_notAfter(certificate), seconds_of(not_before + lifetime));
}

struct ExtensionText {
  int nid;
  const char* value;
};

// Values are our own constants in OpenSSL's configuration syntax; nothing from a request may go in
// here, because that syntax has separators.
Result<> add_extensions(X509* certificate, X509* issuer, std::span<const ExtensionText> list) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  for (const auto& [nid, value] : list) {
    const Extension extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value));
    if (!extension || X509_add_ext(certificate, extension.get(), -1) != 1)
      return openssl_failure(Code::internal, fmt::format("extension {}", OBJ_nid2sn(nid)));
  }
  return {};
}

bool push_name(GENERAL_NAMES* names, int type, const unsigned char* bytes, std::size_t size) {
  Name name(GENERAL_NAME_new());
  ASN1_STRING* value =
      ASN1_STRING_type_new(type == GEN_DNS ? V_ASN1_IA5STRING : V_ASN1_OCTET_STRING);
  if (!name || !value) return false;
  GENERAL_NAME_set0_value(name.get(), type, value);
  if (ASN1_STRING_set(value, bytes, static_cast<int>(size)) != 1) return false;
  GENERAL_NAME* given = name.release();
  if (sk_GENERAL_NAME_push(names, given) > 0) return true;
  GENERAL_NAME_free(given);
  return false;
}

Result<> push_dns_name(GENERAL_NAMES* names, const std::string& text) {
  constexpr std::string_view kAllowed =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._*";
  if (text.empty() || text.find_first_not_of(kAllowed) != std::string::npos)
    return fail(error_of(Code::invalid, "'{}' is not a DNS name", text).at("dns_names"));
  if (!push_name(names, GEN_DNS, reinterpret_cast<const unsigned char*>(text.data()), text.size()))
    return openssl_failure(Code::internal, "a DNS name could not be added");
  return {};
}

Result<> push_address(GENERAL_NAMES* names, const std::string& text) {
  std::array<unsigned char, 16> bytes{};
  const bool is_v4 = inet_pton(AF_INET, text.c_str(), bytes.data()) == 1;
  if (!is_v4 && inet_pton(AF_INET6, text.c_str(), bytes.data()) != 1)
    return fail(error_of(Code::invalid, "'{}' is not an IP address", text).at("ip_addresses"));
  if (!push_name(names, GEN_IPADD, bytes.data(), is_v4 ? 4 : 16))
    return openssl_failure(Code::internal, "an IP address could not be added");
  return {};
}

Result<> add_alternative_names(X509* certificate, const CertificateRequest& request) {
  const Names names(GENERAL_NAMES_new());
  for (const auto& name : request.dns_names)
    if (auto added = push_dns_name(names.get(), name); !added) return added;
  for (const auto& address : request.ip_addresses)
    if (auto added = push_address(names.get(), address); !added) return added;
  if (sk_GENERAL_NAME_num(names.get()) == 0) return {};
  if (X509_add1_ext_i2d(certificate, NID_subject_alt_name, names.get(), 0, X509V3_ADD_DEFAULT) != 1)
    return openssl_failure(Code::internal, "extension subjectAltName");
  return {};
}

struct Draft {
  CertificateHandle certificate;
  KeyHandle key;
};

// A certificate with a fresh key, serial, subject and dates; without issuer, extensions, signature.
Result<Draft> draft_certificate(const std::string& common_name,
                                const std::vector<std::string>& organizations, WallTime not_before,
                                Duration lifetime) {
  if (auto checked = check_request(common_name, not_before, lifetime); !checked)
    return pass(checked);
  Draft draft{CertificateHandle(X509_new()), KeyHandle(EVP_EC_gen("P-256"))};
  X509* certificate = draft.certificate.get();
  if (!certificate || !draft.key || X509_set_version(certificate, kVersion3) != 1 ||
      X509_set_pubkey(certificate, draft.key.get()) != 1 || !set_random_serial(certificate) ||
      !set_validity(certificate, not_before, lifetime))
    return openssl_failure(Code::internal, "a certificate could not be prepared");
  X509_NAME* subject = X509_get_subject_name(certificate);
  for (const auto& organization : organizations)
    if (auto added = add_subject_entry(subject, NID_organizationName, organization); !added)
      return fail(std::move(added.error()).at("organizations"));
  if (auto added = add_subject_entry(subject, NID_commonName, common_name); !added)
    return fail(std::move(added.error()).at("common_name"));
  return draft;
}

Result<KeyPair> sign_and_write(const Draft& draft, EVP_PKEY* signer) {
  const BioHandle certificate(BIO_new(BIO_s_mem()));
  const BioHandle key(BIO_new(BIO_s_mem()));
  if (X509_sign(draft.certificate.get(), signer, EVP_sha256()) <= 0 ||
      PEM_write_bio_X509(certificate.get(), draft.certificate.get()) != 1 ||
      PEM_write_bio_PrivateKey(key.get(), draft.key.get(), nullptr, nullptr, 0, nullptr, nullptr) !=
          1)
    return openssl_failure(Code::internal, "a certificate could not be signed");
  return KeyPair{text_of(certificate.get()), Secret(text_of(key.get()))};
}

Result<> check_key(X509* certificate, EVP_PKEY* key) {
  if (X509_check_private_key(certificate, key) == 1) return {};
  return openssl_failure(
      Code::invalid, fmt::format("the private key does not belong to {}", title_of(certificate)));
}

// Of the first certificate in the text.
Result<CertificateInfo> describe_text(std::string_view certificate_pem) {
  auto list = read_certificates(certificate_pem);
  if (!list) return pass(list);
  X509* certificate = first_of(*list);
  const auto from = wall_time_of(X509_get0_notBefore(certificate));
  if (!from) return fail(from.error());
  const auto until = wall_time_of(X509_get0_notAfter(certificate));
  if (!until) return fail(until.error());
  CertificateInfo info{.common_name = common_name_of(certificate),
                       .organizations = subject_entries(certificate, NID_organizationName),
                       .not_before = *from,
                       .not_after = *until,
                       .is_authority = is_authority(certificate)};
  read_alternative_names(certificate, info);
  return info;
}

// When a chain of certificates is valid.
struct Validity {
  WallTime from = WallTime::min();
  WallTime until = WallTime::max();
  bool covers(WallTime at) const { return from <= at && at < until; }
};

// Nothing where a date cannot be read.
std::optional<Validity> validity_of(const STACK_OF(X509) * chain) {
  Validity all;
  for (int i = 0; i < sk_X509_num(chain); ++i) {
    const X509* const one = sk_X509_value(chain, i);
    const auto from = wall_time_of(X509_get0_notBefore(one));
    const auto until = wall_time_of(X509_get0_notAfter(one));
    if (!from || !until) return std::nullopt;
    all = {std::max(all.from, *from), std::min(all.until, *until)};
  }
  return all;
}

// Two texts as one, with the length of the first before them: no other two give the same.
std::string joined(std::string_view certificate_pem, std::string_view authority_pem) {
  return fmt::format("{}:{}{}", certificate_pem.size(), certificate_pem, authority_pem);
}

// What was found out about texts of certificates is kept for this many of them.
constexpr std::size_t kKnownTexts = 64;

// Pairs that were found to belong together: that never changes, and finding it out takes OpenSSL
// most of a millisecond. Digests, so that no key is kept.
class KnownPairs {
 public:
  bool has(const std::string& digest) const {
    return std::ranges::find(digests_, digest) != digests_.end();
  }
  void add(const std::string& digest) { digests_[next_++ % digests_.size()] = digest; }

 private:
  std::array<std::string, 8> digests_{};
  std::size_t next_ = 0;
};

Error verify_error(X509_STORE_CTX* context, WallTime at) {
  const int why = X509_STORE_CTX_get_error(context);
  X509* where = X509_STORE_CTX_get_current_cert(context);
  const std::string title = where ? title_of(where) : std::string("the certificate");
  const auto date = [&](const ASN1_TIME* time) {
    const auto read = wall_time_of(time);
    return read ? format_rfc3339(*read) : std::string("an unreadable date");
  };
  if (where && why == X509_V_ERR_CERT_HAS_EXPIRED)
    return error_of(Code::invalid, "{} is valid until {}, the time is {}", title,
                    date(X509_get0_notAfter(where)), format_rfc3339(at));
  if (where && why == X509_V_ERR_CERT_NOT_YET_VALID)
    return error_of(Code::invalid, "{} is valid from {}, the time is {}", title,
                    date(X509_get0_notBefore(where)), format_rfc3339(at));
  return error_of(Code::invalid, "{} is not trusted: {}", title,
                  X509_verify_cert_error_string(why));
}

}  // namespace

Result<KeyPair> make_authority(const AuthorityRequest& request) {
  auto draft = draft_certificate(request.common_name, {}, request.not_before, request.lifetime);
  if (!draft) return pass(draft);
  X509* certificate = draft->certificate.get();
  if (X509_set_issuer_name(certificate, X509_get_subject_name(certificate)) != 1)
    return openssl_failure(Code::internal, "the issuer could not be set");
  constexpr ExtensionText kExtensions[] = {
      {NID_basic_constraints, "critical,CA:TRUE,pathlen:0"},
      {NID_key_usage, "critical,keyCertSign,cRLSign"},
      {NID_subject_key_identifier, "hash"},
  };
  if (auto added = add_extensions(certificate, certificate, kExtensions); !added)
    return pass(added);
  return sign_and_write(*draft, draft->key.get());
}

Result<KeyPair> issue_certificate(const KeyPair& authority, const CertificateRequest& request) {
  auto issuers = read_certificates(authority.certificate_pem);
  if (!issuers) return pass(issuers);
  auto signer = read_private_key(authority.key_pem);
  if (!signer) return pass(signer);
  X509* issuer = first_of(*issuers);
  if (!is_authority(issuer))
    return fail(Code::invalid, "{} is not an authority, it cannot sign others", title_of(issuer));
  if (auto checked = check_key(issuer, signer->get()); !checked) return pass(checked);

  auto draft = draft_certificate(request.common_name, request.organizations, request.not_before,
                                 request.lifetime);
  if (!draft) return pass(draft);
  X509* certificate = draft->certificate.get();
  if (X509_set_issuer_name(certificate, X509_get_subject_name(issuer)) != 1)
    return openssl_failure(Code::internal, "the issuer could not be set");
  const ExtensionText extensions[] = {
      {NID_basic_constraints, "critical,CA:FALSE"},
      {NID_key_usage, "critical,digitalSignature"},
      {NID_ext_key_usage, request.client ? "clientAuth" : "serverAuth"},
      {NID_subject_key_identifier, "hash"},
      {NID_authority_key_identifier, "keyid:always"},
  };
  if (auto added = add_extensions(certificate, issuer, extensions); !added) return pass(added);
  if (auto added = add_alternative_names(certificate, request); !added) return pass(added);
  return sign_and_write(*draft, signer->get());
}

Result<CertificateInfo> describe_certificate(std::string_view certificate_pem) {
  static thread_local TextMemo<CertificateInfo, kKnownTexts> known;
  if (const CertificateInfo* const info = known.find(certificate_pem)) return *info;
  Result<CertificateInfo> info = describe_text(certificate_pem);
  if (info) known.put(certificate_pem, *info);
  return info;
}

Result<> check_key_pair(std::string_view certificate_pem, const Secret& key_pem) {
  static thread_local KnownPairs known;
  const std::string digest =
      sha256(fmt::format("{}\n{}", sha256(certificate_pem), sha256(key_pem.reveal())));
  if (known.has(digest)) return {};
  auto list = read_certificates(certificate_pem);
  if (!list) return pass(list);
  auto key = read_private_key(key_pem);
  if (!key) return pass(key);
  const Result<> checked = check_key(first_of(*list), key->get());
  if (checked) known.add(digest);
  return checked;
}

Result<> verify_signed_by(std::string_view certificate_pem, std::string_view authority_pem,
                          WallTime at) {
  // A chain that was found once leads there as long as all of it is valid.
  static thread_local TextMemo<Validity, kKnownTexts> known;
  const std::string texts = joined(certificate_pem, authority_pem);
  if (const Validity* const before = known.find(texts); before && before->covers(at)) return {};
  auto list = read_certificates(certificate_pem);
  if (!list) return pass(list);
  auto authorities = read_certificates(authority_pem);
  if (!authorities) return pass(authorities);

  const Store store(X509_STORE_new());
  const StoreContext context(X509_STORE_CTX_new());
  if (!store || !context) return openssl_failure(Code::internal, "no certificate store");
  for (int i = 0; i < sk_X509_num(authorities->get()); ++i)
    X509_STORE_add_cert(store.get(), sk_X509_value(authorities->get(), i));
  if (X509_STORE_CTX_init(context.get(), store.get(), first_of(*list), list->get()) != 1)
    return openssl_failure(Code::internal, "no certificate store");
  X509_STORE_CTX_set_time(context.get(), 0, seconds_of(at));
  if (X509_verify_cert(context.get()) == 1) {
    if (const auto valid = validity_of(X509_STORE_CTX_get0_chain(context.get())))
      known.put(texts, *valid);
    return {};
  }
  ERR_clear_error();
  return fail(verify_error(context.get(), at));
}

}  // namespace berth::crypto
