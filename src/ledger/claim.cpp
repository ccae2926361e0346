#include "ledger/claim.h"

#include <array>

#include <boost/json.hpp>
#include "wire/value.h"

namespace berth::ledger {
namespace {

struct Move {
  SlotState from;
  Event event;
  SlotState to;
};

// The whole life of a slot. What is not listed may not happen.
constexpr std::array kMoves{
    Move{SlotState::free, Event::admit, SlotState::claimed},
    Move{SlotState::claimed, Event::pod_seen, SlotState::bound},
    Move{SlotState::claimed, Event::claim_expired, SlotState::free},
    Move{SlotState::bound, Event::pod_gone, SlotState::free},
    // Seen again after a restart, a relist or a repeated event.
    Move{SlotState::bound, Event::pod_seen, SlotState::bound},
    Move{SlotState::free, Event::pod_gone, SlotState::free},
};

constexpr int kFormatVersion = 1;

}  // namespace

std::string_view to_string(SlotState state) {
  constexpr std::string_view kNames[] = {"Free", "Claimed", "Bound"};
  return kNames[static_cast<std::size_t>(state)];
}

std::string encode(const Claim& claim) {
  return wire::to_json(wire::Object{{"v", claim.version},
                                    {"token", claim.token},
                                    {"namespace", claim.ns},
                                    {"pod", claim.pod_name},
                                    {"uid", claim.pod_uid},
                                    {"owner", claim.owner_uid},
                                    {"request", claim.request},
                                    {"since", format_rfc3339_micro(claim.since)}});
}

Result<std::optional<Claim>> decode_claim(std::string_view annotation) {
  if (annotation.empty()) return std::nullopt;
  const auto bad = [&](std::string_view why) {
    return fail(error_of(Code::invalid, "is not a claim: {}", why)
                    .at(fmt::format("metadata.annotations[{}]", kClaimAnnotation))
                    .with_hint("restore the text, or empty it if no Pod uses the port"));
  };
  const Result<wire::Value> json = wire::parse_json(annotation);
  if (!json) return bad(json.error().message);
  if (wire::int_at(*json, "/v") != kFormatVersion) return bad("its version is not 1");
  const auto text = [&](std::string_view pointer) {
    return std::string(wire::string_at(*json, pointer));
  };
  const Result<WallTime> since = parse_rfc3339(wire::string_at(*json, "/since"));
  if (!since) return bad(since.error().message);
  Claim claim{.token = text("/token"),
              .ns = text("/namespace"),
              .pod_name = text("/pod"),
              .pod_uid = text("/uid"),
              .owner_uid = text("/owner"),
              .request = text("/request"),
              .since = *since};
  if (claim.token.empty()) return bad("it has no token");
  return claim;
}

Result<SlotState> next_state(SlotState state, Event event) {
  for (const Move& move : kMoves) {
    if (move.from == state && move.event == event) return move.to;
  }
  constexpr std::string_view kEvents[] = {"admit", "pod_seen", "pod_gone", "claim_expired"};
  return fail(Code::conflict, "{} may not happen to a slot that is {}",
              kEvents[static_cast<std::size_t>(event)], to_string(state));
}

}  // namespace berth::ledger
