// Decides when keys of a ring are made, when they begin to seal and when they go. Pure.
//
// Every replica must know a key before anybody seals with it: a new one is announced first, by
// lying in the Secret that all of them read, and seals only when all of them have read it. It goes
// when its successor has sealed for long enough.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "crypto/key_ring.h"

namespace berth::kube {

// From the moment a key is made until it seals: many times the keepers' period, and more than
// clocks of replicas differ.
inline constexpr Duration kKeyAnnouncement = std::chrono::hours{1};
// Nobody needs more; a ring that somebody filled by hand is still looked through quickly.
inline constexpr std::size_t kMaxKeysInRing = 64;

struct RingRules {
  Duration rotation;  // the age at which a key gets a successor
  Duration overlap;   // how long it verifies after its successor began to seal
};

// What is sealed with these stays for months, and is sealed again meanwhile.
inline constexpr RingRules kSealRules{.rotation = std::chrono::hours{24 * 90},
                                      .overlap = std::chrono::hours{24 * 180}};
// Paths of webhooks are printed in errors of API servers. The overlap is the time that a leader,
// who tells API servers the new path, may be away.
inline constexpr RingRules kPathRules{.rotation = std::chrono::hours{24},
                                      .overlap = std::chrono::hours{24}};

struct RingPlan {
  bool make = false;
  std::vector<std::string> retire{};  // ids
};

// `demanded`: a successor is wanted whatever the age, unless one has just been made.
RingPlan plan_rotation(std::span<const crypto::Key> keys, const RingRules& rules, WallTime now,
                       bool demanded);

// The ring as it is to be used now.
crypto::KeyRing ring_at(std::vector<crypto::Key> keys, WallTime now);

// What the Secret has, with what was lost from it: keys that we know and that it should still have.
// Those that were retired were its oldest. When it has none of ours, somebody made it who did not
// know them.
std::vector<crypto::Key> completed(std::vector<crypto::Key> found,
                                   std::span<const crypto::Key> known);

}  // namespace berth::kube
