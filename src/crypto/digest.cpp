#include "crypto/digest.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/rand.h>

#include <array>
#include <cstdlib>

#include "base/encoding.h"
#include "base/log.h"
#include "crypto/openssl_support.h"

namespace berth::crypto {
namespace {

constexpr std::size_t kSha256Bytes = 32;
constexpr std::size_t kMd5Bytes = 16;
using Digest = std::array<unsigned char, kSha256Bytes>;

void require(bool done, std::string_view what) {
  if (done) return;
  log_error("the cryptographic library failed", {{"operation", std::string(what)}});
  std::abort();
}

const unsigned char* bytes_of(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

using MacContext = Handle<EVP_MAC_CTX, EVP_MAC_CTX_free>;

MacContext new_hmac_sha256() {
  const Handle<EVP_MAC, EVP_MAC_free> hmac(EVP_MAC_fetch(nullptr, "HMAC", nullptr));
  MacContext context(hmac ? EVP_MAC_CTX_new(hmac.get()) : nullptr);
  char digest[] = "SHA256";
  const OSSL_PARAM params[] = {OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
                               OSSL_PARAM_construct_end()};
  require(context && EVP_MAC_CTX_set_params(context.get(), params) == 1, "hmac_sha256");
  return context;
}

std::string string_of(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

}  // namespace

std::string sha256(std::string_view bytes) {
  Digest out{};
  require(EVP_Digest(bytes.data(), bytes.size(), out.data(), nullptr, EVP_sha256(), nullptr) == 1,
          "sha256");
  return string_of(out);
}

std::string sha256_hex(std::string_view bytes) { return hex_encode(sha256(bytes)); }

std::string md5_hex(std::string_view bytes) {
  std::array<unsigned char, kMd5Bytes> out{};
  require(EVP_Digest(bytes.data(), bytes.size(), out.data(), nullptr, EVP_md5(), nullptr) == 1,
          "md5");
  return hex_encode({reinterpret_cast<const char*>(out.data()), out.size()});
}

std::string hmac_sha256(std::string_view key, std::string_view bytes) {
  // Made once per thread: looking up the algorithms takes longer than using them.
  thread_local const MacContext context = new_hmac_sha256();
  Digest out{};
  std::size_t size = 0;
  // A null key means "as before" to OpenSSL: an empty one must not be null.
  const std::string_view given = key.empty() ? std::string_view("") : key;
  require(EVP_MAC_init(context.get(), bytes_of(given), given.size(), nullptr) == 1 &&
              EVP_MAC_update(context.get(), bytes_of(bytes), bytes.size()) == 1 &&
              EVP_MAC_final(context.get(), out.data(), &size, out.size()) == 1 &&
              size == out.size(),
          "hmac_sha256");
  return string_of(out);
}

std::string hmac_sha256_hex(std::string_view key, std::string_view bytes) {
  return hex_encode(hmac_sha256(key, bytes));
}

bool constant_time_equal(std::string_view a, std::string_view b) {
  return a.size() == b.size() && CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string random_bytes(std::size_t count) {
  std::string out(count, '\0');
  require(RAND_bytes(reinterpret_cast<unsigned char*>(out.data()), static_cast<int>(count)) == 1,
          "random_bytes");
  return out;
}

}  // namespace berth::crypto
