// A claim: who has a slot of a pool. It lives in an annotation of the slot's Listener and nowhere
// else.
//
// The states of a slot and the moves between them are one table here; `claims/` performs them with
// compare-and-swap writes. Pure values and functions: time comes in as a parameter.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "model/port.h"

namespace berth::ledger {

// Always present on a pool's Listener; empty when the slot is free, so that one JSON Patch can test
// and replace it.
inline constexpr std::string_view kClaimAnnotation = "berth.dev/claim";
// On a Pod: the token of its claim. At admission a Pod has neither name (with generateName) nor
// uid, so the token is what ties the two together until the Pod is seen.
inline constexpr std::string_view kTokenLabel = "berth.dev/claim-token";

// A token says when it was made. The numbers must be random.
std::string make_token(WallTime now, std::uint64_t high, std::uint64_t low);
// In whole seconds; nothing for a text that is no token of this form.
std::optional<WallTime> token_time(std::string_view token);

enum class SlotState : std::uint8_t {
  free,        // nobody has it
  claimed,     // given in an admission answer; the Pod has not been seen yet
  bound,       // belongs to the Pod of this uid
  draining,    // its Pod is gone; the load balancer has not confirmed yet that nothing leads there
  kept,        // nothing leads anywhere; waits for a Pod of the same name
  quarantined  // nothing leads anywhere; waits until players of the last owner have noticed
};
std::string_view to_string(SlotState state);

struct Claim {
  SlotState state = SlotState::claimed;
  std::string token{};      // unique per admission
  std::string ns{};         // of the Pod
  std::string pod_name{};   // from the beginning when the Pod has a name of its own
  std::string pod_uid{};    // of the last Pod that it was bound to
  std::string owner_uid{};  // of the Pod's controller, when it has one
  // Hash of what was asked for: a Pod that asks for something else is not the one of this claim.
  std::string request{};
  int entry = 0;  // which of the Pod's requests it answers, from 0 on
  // Where it leads inside the Pod. Not known in claims of versions before 0.2.
  model::PodPort pod_port{};
  WallTime since{};  // of the state
  Duration keep{};   // how long the name keeps the slot after its Pod is gone
  WallTime until{};  // when a kept or quarantined slot moves on

  friend bool operator==(const Claim&, const Claim&) = default;
};

// The annotation's text. Fields in a fixed order: the text is compared by the API server.
std::string encode(const Claim& claim);
// Nothing for the empty text of a free slot. A text that cannot be read is an error: the slot must
// not be given away.
Result<std::optional<Claim>> decode_claim(std::string_view annotation);

enum class Event : std::uint8_t {
  admit,        // an admission takes the slot
  reused,       // an owner whose Pods keep failing after our answer uses its oldest claim again
  pod_seen,     // the Pod of the claim exists
  pod_returns,  // an admission of a Pod of the same name takes it back
  abandoned,    // the Pod is gone, has ended, or never came
  confirmed,    // the load balancer leads nowhere from here
  window_over,  // of keeping or of quarantine
  astray,       // a write that came late leads to its former Pod once more
};
std::string_view to_string(Event event);

struct Move {
  SlotState from;
  Event event;
  SlotState to;
};
// The whole life of a slot. What is not listed may not happen.
std::span<const Move> all_moves();
bool may_move(SlotState from, Event event, SlotState to);

// The moves as changes of a claim; nothing means that the slot is free. Each of them is in the
// table.
Claim bound_to(Claim claim, std::string pod_name, std::string pod_uid, WallTime now);
Claim taken_back(const Claim& before, Claim admission, WallTime now);
// `leads_nowhere`: the load balancer has confirmed that already, so there is nothing to drain.
std::optional<Claim> abandoned(Claim claim, bool leads_nowhere, Duration quarantine, WallTime now);
std::optional<Claim> drained(Claim claim, Duration quarantine, WallTime now);
// Of a kept or quarantined slot that was found to lead somewhere.
Claim gone_astray(Claim claim, WallTime now);
// Of a kept or quarantined slot whose time is over; it has certainly led nowhere for as long as it
// rested.
std::optional<Claim> window_over(Claim claim, Duration quarantine, Duration rested, WallTime now);

// A claim whose Pod was not seen this long after admission belongs to nobody: the creation failed
// after our answer.
inline constexpr Duration kUnboundClaimLifetime = std::chrono::seconds{60};

// A name keeps its slot for so long at the most: one that never comes back must not have it for
// ever.
inline constexpr Duration kMaxKeep = std::chrono::hours{24 * 30};
// Until when a kept slot is kept, whatever its claim says. Nothing is kept that was no Pod's.
WallTime kept_until(const Claim& claim, Duration max_keep);

// Clocks of replicas differ by less; more than that costs waiting slots some of their time.
inline constexpr Duration kClockSkew = std::chrono::minutes{10};
// How much longer a slot waits that moves on at `until`; zero or less: its time is over. That time
// was written by a clock that may not be ours: who has seen it wait for as long as it was meant to
// goes by that, and who has not must have seen a part of it that is longer than clocks differ.
Duration still_waits(const Claim& claim, WallTime until, Duration seen_for, WallTime now);

}  // namespace berth::ledger
