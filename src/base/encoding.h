// Text encodings that several layers need. Pure functions.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace berth {

std::string base64_encode(std::string_view bytes);
// Standard alphabet with padding; line breaks are allowed, for PEM bodies and hand-wrapped
// kubeconfigs.
Result<std::string> base64_decode(std::string_view text);
std::string base64url_encode(std::string_view bytes);  // without padding, as JWT has it

std::string hex_encode(std::string_view bytes);

// Percent-encodes everything but RFC 3986 unreserved characters.
std::string url_encode(std::string_view text);
Result<std::string> url_decode(std::string_view text);

// The text with each byte that is not part of UTF-8 replaced by U+FFFD.
std::string valid_utf8(std::string_view text);

// Appends the text as a quoted JSON string. Bytes that are not UTF-8 become U+FFFD.
void append_json_string(std::string& out, std::string_view text);

}  // namespace berth
