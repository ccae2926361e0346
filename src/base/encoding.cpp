#include "base/encoding.h"

#include <algorithm>
#include <array>
#include <cstdint>

namespace berth {
namespace {

constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kBase64Url =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::string_view kHex = "0123456789abcdef";
constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD in UTF-8

constexpr std::uint8_t kNoBase64 = 64;
constexpr std::array<std::uint8_t, 256> kBase64Values = [] {
  std::array<std::uint8_t, 256> values{};
  values.fill(kNoBase64);
  for (std::uint8_t i = 0; i < kBase64.size(); ++i)
    values[static_cast<std::uint8_t>(kBase64[i])] = i;
  return values;
}();

std::uint8_t byte_at(std::string_view s, std::size_t i) { return static_cast<std::uint8_t>(s[i]); }

std::string encode64(std::string_view in, std::string_view alphabet, bool pad) {
  std::string out;
  out.reserve((in.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < in.size(); i += 3) {
    const std::size_t have = std::min<std::size_t>(3, in.size() - i);
    std::uint32_t bits = std::uint32_t{byte_at(in, i)} << 16;
    if (have > 1) bits |= std::uint32_t{byte_at(in, i + 1)} << 8;
    if (have > 2) bits |= byte_at(in, i + 2);
    for (std::size_t k = 0; k < have + 1; ++k) out += alphabet[(bits >> (18 - 6 * k)) & 63];
    if (pad) out.append(3 - have, '=');
  }
  return out;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// Length of the UTF-8 sequence that starts at `i`, or 0 if the bytes there are none.
std::size_t utf8_length(std::string_view s, std::size_t i) {
  const std::uint8_t lead = byte_at(s, i);
  const std::size_t length = lead < 0x80   ? 1
                             : lead < 0xC2 ? 0
                             : lead < 0xE0 ? 2
                             : lead < 0xF0 ? 3
                             : lead < 0xF5 ? 4
                                           : 0;
  if (length == 0 || i + length > s.size()) return 0;
  for (std::size_t k = 1; k < length; ++k) {
    if ((byte_at(s, i + k) & 0xC0) != 0x80) return 0;
  }
  if (length == 3) {
    const std::uint8_t second = byte_at(s, i + 1);
    if ((lead == 0xE0 && second < 0xA0) || (lead == 0xED && second > 0x9F))
      return 0;  // overlong, surrogate
  }
  if (length == 4) {
    const std::uint8_t second = byte_at(s, i + 1);
    if ((lead == 0xF0 && second < 0x90) || (lead == 0xF4 && second > 0x8F))
      return 0;  // overlong, too large
  }
  return length;
}

// Characters that stand in a JSON string as they are, whatever comes before or after them.
constexpr std::array<bool, 256> kPlainInJson = [] {
  std::array<bool, 256> plain{};
  for (std::size_t c = 0x20; c < 0x80; ++c) plain[c] = c != '"' && c != '\\';
  return plain;
}();

void append_escaped(std::string& out, char c) {
  switch (c) {
    case '"': out += "\\\""; return;
    case '\\': out += "\\\\"; return;
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\t': out += "\\t"; return;
    default: break;
  }
  const auto byte = static_cast<std::uint8_t>(c);
  if (byte < 0x20) {
    out += "\\u00";
    out += kHex[byte >> 4];
    out += kHex[byte & 15];
  } else {
    out += c;
  }
}

}  // namespace

std::string base64_encode(std::string_view bytes) { return encode64(bytes, kBase64, true); }
std::string base64url_encode(std::string_view bytes) { return encode64(bytes, kBase64Url, false); }

Result<std::string> base64_decode(std::string_view text) {
  std::string out;
  out.reserve(text.size() / 4 * 3);
  std::uint32_t bits = 0;
  std::size_t symbols = 0;
  std::size_t padding = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\n' || c == '\r') continue;
    if (c == '=') {
      ++padding;
      continue;
    }
    const std::uint8_t value = kBase64Values[byte_at(text, i)];
    if (value == kNoBase64 || padding > 0)
      return fail(Code::invalid, "not base64: unexpected character at offset {}", i);
    bits = (bits << 6) | value;
    if (++symbols % 4 == 0) {
      out += static_cast<char>(bits >> 16);
      out += static_cast<char>(bits >> 8);
      out += static_cast<char>(bits);
      bits = 0;
    }
  }
  const std::size_t tail = symbols % 4;
  if ((symbols + padding) % 4 != 0 || padding > 2 || tail == 1)
    return fail(Code::invalid, "not base64: the length is not a multiple of four");
  if (tail == 2) out += static_cast<char>(bits >> 4);
  if (tail == 3) {
    out += static_cast<char>(bits >> 10);
    out += static_cast<char>(bits >> 2);
  }
  return out;
}

std::string hex_encode(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size() * 2);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    out += kHex[byte_at(bytes, i) >> 4];
    out += kHex[byte_at(bytes, i) & 15];
  }
  return out;
}

std::string url_encode(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.' || c == '~';
    if (plain) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<std::uint8_t>(c));
    }
  }
  return out;
}

Result<std::string> url_decode(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    const int high = i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = high >= 0 ? hex_digit(text[i + 2]) : -1;
    if (low < 0) return fail(Code::invalid, "bad percent-encoding at offset {}", i);
    out += static_cast<char>(high * 16 + low);
    i += 2;
  }
  return out;
}

std::string valid_utf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = utf8_length(text, i);
    out += length == 0 ? kReplacement : text.substr(i, length);
    i += std::max<std::size_t>(length, 1);
  }
  return out;
}

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  for (std::size_t i = 0; i < text.size();) {
    const char* const begin = text.data() + i;
    const char* const end = text.data() + text.size();
    const char* next = begin;
    while (next != end && kPlainInJson[static_cast<std::uint8_t>(*next)]) ++next;
    out.append(begin, next);
    if (next == end) break;
    i = static_cast<std::size_t>(next - text.data());
    const std::size_t length = utf8_length(text, i);
    if (length == 1) {
      append_escaped(out, text[i]);
    } else {
      out += length == 0 ? kReplacement : text.substr(i, length);
    }
    i += std::max<std::size_t>(length, 1);
  }
  out += '"';
}

}  // namespace berth
