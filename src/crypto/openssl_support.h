// Owning handles and error texts for OpenSSL. Private to this folder: only .cpp files include it.
#pragma once

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/evp.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/secret.h"

namespace berth::crypto {

template <auto Free>
struct Freed {
  template <class T>
  void operator()(T* handle) const {
    Free(handle);
  }
};
template <class T, auto Free>
using Handle = std::unique_ptr<T, Freed<Free>>;

using BioHandle = Handle<BIO, BIO_free_all>;
using KeyHandle = Handle<EVP_PKEY, EVP_PKEY_free>;
using CertificateHandle = Handle<X509, X509_free>;

// What OpenSSL complained about last on this thread. Empties its queue, so that the next failure
// does not report this one.
std::string take_openssl_error();

// "<what>: <OpenSSL's reason>", as a defect or a refusal.
Failure openssl_failure(Code code, std::string_view what);

// Certificates or a key: the bundle of all public authorities has a quarter of this.
inline constexpr std::size_t kMaxPemBytes = 1u << 20;

// A reader over the text, which must outlive it. Refuses an empty one and more than kMaxPemBytes.
Result<BioHandle> reader_of(std::string_view text);
std::string text_of(BIO* memory);

// Any unencrypted private key in PEM: PKCS#8, PKCS#1 or SEC1.
Result<KeyHandle> read_private_key(const Secret& key_pem);

}  // namespace berth::crypto
