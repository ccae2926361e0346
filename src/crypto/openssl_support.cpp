#include "crypto/openssl_support.h"

#include <openssl/err.h>
#include <openssl/pem.h>

#include <array>

namespace berth::crypto {
namespace {

// OpenSSL's own answer to an encrypted key is to ask on the terminal: refuse instead.
int refuse_passphrase(char*, int, int, void* asked) {
  *static_cast<bool*>(asked) = true;
  return -1;
}

}  // namespace

std::string take_openssl_error() {
  const unsigned long code = ERR_peek_last_error();
  ERR_clear_error();
  if (code == 0) return "no reason given";
  if (const char* reason = ERR_reason_error_string(code)) return reason;
  std::array<char, 256> text{};
  ERR_error_string_n(code, text.data(), text.size());
  return text.data();
}

Failure openssl_failure(Code code, std::string_view what) {
  return fail(code, "{}: {}", what, take_openssl_error());
}

Result<BioHandle> reader_of(std::string_view text) {
  if (text.empty()) return fail(Code::invalid, "the PEM text is empty");
  if (text.size() > kMaxPemBytes)
    return fail(Code::invalid, "the PEM text has {} bytes, at most {} are allowed", text.size(),
                kMaxPemBytes);
  BioHandle reader(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  if (!reader) return openssl_failure(Code::internal, "no memory to read PEM");
  return reader;
}

std::string text_of(BIO* memory) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(memory, &data);
  return size > 0 ? std::string(data, static_cast<std::size_t>(size)) : std::string();
}

Result<KeyHandle> read_private_key(const Secret& key_pem) {
  auto in = reader_of(key_pem.reveal());
  if (!in) return fail(error_of(Code::invalid, "no private key").because(std::move(in.error())));
  bool encrypted = false;
  KeyHandle key(PEM_read_bio_PrivateKey(in->get(), nullptr, refuse_passphrase, &encrypted));
  if (encrypted) {
    ERR_clear_error();
    return fail(Code::invalid, "the private key is encrypted: only plain PEM keys can be used");
  }
  if (!key) return openssl_failure(Code::invalid, "not a private key in PEM");
  return key;
}

}  // namespace berth::crypto
