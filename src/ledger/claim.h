// A claim: who has a slot of a pool. It lives in an annotation of the slot's Listener and nowhere
// else.
//
// The three states of a slot and the moves between them are one table here; `claims/` performs them
// with compare-and-swap writes. Pure values and functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"

namespace berth::ledger {

// Always present on a pool's Listener; empty when the slot is free, so that one JSON Patch can test
// and replace it.
inline constexpr std::string_view kClaimAnnotation = "berth.dev/claim";
// On a Pod: the token of its claim. At admission a Pod has neither name (with generateName) nor
// uid, so the token is what ties the two together until the Pod is seen.
inline constexpr std::string_view kTokenLabel = "berth.dev/claim-token";

enum class SlotState : std::uint8_t {
  free,     // nobody has it
  claimed,  // given in an admission answer; the Pod has not been seen yet
  bound,    // belongs to the Pod of this uid
};
std::string_view to_string(SlotState state);

struct Claim {
  int version = 1;          // of this format
  std::string token{};      // unique per admission
  std::string ns{};         // of the Pod
  std::string pod_name{};   // when bound
  std::string pod_uid{};    // when bound
  std::string owner_uid{};  // of the Pod's controller, when it has one
  std::string
      request;  // hash of what was asked for: a re-invocation with another request is another claim
  WallTime since{};

  SlotState state() const { return pod_uid.empty() ? SlotState::claimed : SlotState::bound; }
  friend bool operator==(const Claim&, const Claim&) = default;
};

// The annotation's text. Fields in a fixed order: the text is compared by the API server.
std::string encode(const Claim& claim);
// Nothing for the empty text of a free slot. A text that cannot be read is an error: the slot must
// not be given away.
Result<std::optional<Claim>> decode_claim(std::string_view annotation);

enum class Event : std::uint8_t {
  admit,         // an admission takes the slot
  pod_seen,      // the Pod with the token exists
  pod_gone,      // the Pod of the claim is deleted, or has ended
  claim_expired  // no Pod with the token came in time
};

// The state after the event, or an error when the event may not happen in that state.
Result<SlotState> next_state(SlotState state, Event event);

// A claim whose Pod was not seen this long after admission belongs to nobody: the creation failed
// after our answer.
inline constexpr Duration kUnboundClaimLifetime = std::chrono::seconds{60};

}  // namespace berth::ledger
