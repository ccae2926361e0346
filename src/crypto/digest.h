// Digests, message authentication and random bytes. Pure but for the random ones; any thread may
// call them.
//
// Results are raw bytes unless the name says hex. A library that cannot hash or has no entropy
// leaves nothing sensible to do, so that ends the process instead of being every caller's error.
#pragma once

#include <string>
#include <string_view>

namespace berth::crypto {

std::string sha256(std::string_view bytes);
std::string sha256_hex(std::string_view bytes);
// For names that others made with it, never for safety.
std::string md5_hex(std::string_view bytes);
std::string hmac_sha256(std::string_view key, std::string_view bytes);
std::string hmac_sha256_hex(std::string_view key, std::string_view bytes);

// Takes the same time wherever the first difference is: for signatures and tokens.
bool constant_time_equal(std::string_view a, std::string_view b);

// From the system's entropy: never the same twice, so code under simulation uses base::Random.
std::string random_bytes(std::size_t count);

}  // namespace berth::crypto
