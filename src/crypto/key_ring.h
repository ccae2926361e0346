// A ring of named keys: one of them seals, all of them verify, so that keys can be replaced while
// what they sealed lives on. Immutable and pure; any thread may use it.
//
// A seal proves that somebody with a key of the ring wrote these fields for this purpose. Whoever
// writes a seal can name any key: `unknown_key` says only that nothing can be said.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/secret.h"
#include "base/time.h"

namespace berth::crypto {

struct Key {
  std::string id{};  // no secret; without a '.'
  Secret bytes{};
  WallTime made{};
};

enum class SealVerdict {
  good,
  forged,       // a key of the ring did not make it, though it says so; or it is no seal at all
  unknown_key,  // made with a key that is not in the ring: replaced long ago, or lost
  absent,
};
std::string_view to_string(SealVerdict verdict);

class KeyRing {
 public:
  // Without keys: nothing can be sealed, and nothing is good.
  KeyRing() = default;
  // The newest key that was made until then seals; the oldest one, if all are newer.
  explicit KeyRing(std::vector<Key> keys, WallTime until = WallTime::max());

  bool empty() const { return keys_.empty(); }
  // The oldest first.
  const std::vector<Key>& keys() const { return keys_; }
  // The id of the key that seals; empty without keys.
  std::string_view signer() const;

  // "<key id>.<base64url of HMAC-SHA256>"; empty without keys.
  std::string seal(std::string_view purpose, std::span<const std::string_view> fields) const;
  std::string seal(std::string_view purpose, std::initializer_list<std::string_view> fields) const {
    return seal(purpose, {fields.begin(), fields.size()});
  }
  SealVerdict judge(std::string_view purpose, std::span<const std::string_view> fields,
                    std::string_view seal) const;
  SealVerdict judge(std::string_view purpose, std::initializer_list<std::string_view> fields,
                    std::string_view seal) const {
    return judge(purpose, {fields.begin(), fields.size()}, seal);
  }

  // Whether the key that seals now made it; one that is good and not current is sealed again some
  // day.
  bool is_current(std::string_view seal) const;

  // A word that only owners of the ring know, of each key, that of the sealing one first. 32 hex
  // digits.
  std::vector<std::string> words(std::string_view purpose) const;

 private:
  std::vector<Key> keys_;
  std::size_t signer_ = 0;
};

}  // namespace berth::crypto
