#include "crypto/key_ring.h"

#include <algorithm>

#include "base/encoding.h"
#include "crypto/digest.h"

namespace berth::crypto {
namespace {

constexpr char kSeparator = '.';
// 128 bits cannot be guessed.
constexpr std::size_t kWordBytes = 16;

// Each part with its length before it, so that no two lists of parts give the same text.
std::string encode(std::string_view purpose, std::span<const std::string_view> fields) {
  std::string out;
  const auto add = [&out](std::string_view part) {
    out.append(std::to_string(part.size())).append(1, ':').append(part);
  };
  add(purpose);
  for (const std::string_view field : fields) add(field);
  return out;
}

std::string mac(const Key& key, std::string_view purpose,
                std::span<const std::string_view> fields) {
  return hmac_sha256(key.bytes.reveal(), encode(purpose, fields));
}

}  // namespace

std::string_view to_string(SealVerdict verdict) {
  switch (verdict) {
    case SealVerdict::good: return "good";
    case SealVerdict::forged: return "forged";
    case SealVerdict::unknown_key: return "unknown key";
    case SealVerdict::absent: return "absent";
  }
  return "";
}

KeyRing::KeyRing(std::vector<Key> keys, WallTime until) : keys_(std::move(keys)) {
  // By id where the time is the same: every replica must choose the same one.
  std::ranges::sort(keys_, [](const Key& a, const Key& b) {
    return std::tie(a.made, a.id) < std::tie(b.made, b.id);
  });
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    if (keys_[i].made <= until) signer_ = i;
  }
}

std::string_view KeyRing::signer() const {
  return keys_.empty() ? std::string_view() : keys_[signer_].id;
}

std::string KeyRing::seal(std::string_view purpose,
                          std::span<const std::string_view> fields) const {
  if (keys_.empty()) return {};
  const Key& key = keys_[signer_];
  return key.id + kSeparator + base64url_encode(mac(key, purpose, fields));
}

SealVerdict KeyRing::judge(std::string_view purpose, std::span<const std::string_view> fields,
                           std::string_view seal) const {
  if (seal.empty()) return SealVerdict::absent;
  const std::size_t at = seal.find(kSeparator);
  if (at == 0 || at == std::string_view::npos) return SealVerdict::forged;
  const auto key = std::ranges::find(keys_, seal.substr(0, at), &Key::id);
  if (key == keys_.end()) return SealVerdict::unknown_key;
  const std::string good = base64url_encode(mac(*key, purpose, fields));
  return constant_time_equal(seal.substr(at + 1), good) ? SealVerdict::good : SealVerdict::forged;
}

bool KeyRing::is_current(std::string_view seal) const {
  return !keys_.empty() && seal.substr(0, seal.find(kSeparator)) == signer();
}

std::vector<std::string> KeyRing::words(std::string_view purpose) const {
  std::vector<std::string> out;
  for (const Key& key : keys_)
    out.push_back(hex_encode(mac(key, purpose, {}).substr(0, kWordBytes)));
  if (!out.empty()) std::swap(out.front(), out[signer_]);
  return out;
}

}  // namespace berth::crypto
