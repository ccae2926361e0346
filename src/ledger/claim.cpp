#include "ledger/claim.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <boost/json.hpp>
#include "base/text_memo.h"
#include "wire/value.h"

namespace berth::ledger {
namespace {

using enum SlotState;

constexpr std::array kMoves{
    Move{free, Event::admit, claimed},
    Move{claimed, Event::reused, claimed},
    Move{claimed, Event::pod_seen, bound},
    // Nobody came. A kept name that was taken back may still lead to its former Pod.
    Move{claimed, Event::abandoned, draining},
    Move{claimed, Event::abandoned, kept},
    Move{claimed, Event::abandoned, free},
    // Seen again after a restart, a relist or a repeated event.
    Move{bound, Event::pod_seen, bound},
    Move{bound, Event::abandoned, draining},
    // The old Pod is certainly gone, although nobody has cleaned up after it yet.
    Move{bound, Event::pod_returns, claimed},
    Move{draining, Event::pod_returns, claimed},
    Move{draining, Event::confirmed, kept},
    Move{draining, Event::confirmed, quarantined},
    Move{draining, Event::confirmed, free},
    Move{kept, Event::pod_returns, claimed},
    Move{kept, Event::window_over, quarantined},
    Move{kept, Event::window_over, free},
    Move{quarantined, Event::window_over, free},
    Move{kept, Event::astray, draining},
    Move{quarantined, Event::astray, draining},
    // A Pod that was told of this port and lost its claim; nobody else has it.
    Move{free, Event::pod_seen, bound},
};

constexpr int kFormatVersion = 1;
constexpr std::array<std::string_view, 6> kStates{"Free",     "Claimed", "Bound",
                                                  "Draining", "Kept",    "Quarantined"};
constexpr std::array<std::string_view, 8> kEvents{"admit",       "reused",    "pod_seen",
                                                  "pod_returns", "abandoned", "confirmed",
                                                  "window_over", "astray"};

std::optional<SlotState> parse_state(std::string_view text) {
  const auto it = std::ranges::find(kStates, text);
  // "Free" is written as the empty text.
  if (it == kStates.end() || it == kStates.begin()) return std::nullopt;
  return static_cast<SlotState>(it - kStates.begin());
}

Claim moved(Claim claim, SlotState state, WallTime now) {
  claim.state = state;
  claim.since = now;
  claim.until = {};
  return claim;
}

// Times in a claim may be anything that somebody wrote.
Duration between(WallTime from, WallTime to) {
  Duration::rep out = 0;
  const bool fits =
      !__builtin_sub_overflow(to.time_since_epoch().count(), from.time_since_epoch().count(), &out);
  if (fits) return Duration{out};
  return from < to ? Duration::max() : Duration::min();
}

// What a slot becomes from which nothing leads anywhere.
std::optional<Claim> at_rest(Claim claim, bool led_somewhere, Duration quarantine, WallTime now) {
  // A Pod that never had a name has none to come back under, and one that never was has nothing to
  // come back to: its creation failed after our answer.
  if (claim.keep > Duration::zero() && !claim.pod_name.empty() && !claim.pod_uid.empty()) {
    claim = moved(std::move(claim), kept, now);
    claim.until = now + claim.keep;
    return claim;
  }
  if (!led_somewhere || quarantine <= Duration::zero()) return std::nullopt;
  claim = moved(std::move(claim), quarantined, now);
  claim.until = now + quarantine;
  return claim;
}

}  // namespace

std::string_view to_string(SlotState state) { return kStates[static_cast<std::size_t>(state)]; }
std::string_view to_string(Event event) { return kEvents[static_cast<std::size_t>(event)]; }

std::span<const Move> all_moves() { return kMoves; }

bool may_move(SlotState from, Event event, SlotState to) {
  return std::ranges::any_of(kMoves, [&](const Move& move) {
    return move.from == from && move.event == event && move.to == to;
  });
}

std::string make_token(WallTime now, std::uint64_t high, std::uint64_t low) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch());
  return fmt::format("{:08x}-{:016x}{:016x}", seconds.count(), high, low);
}

std::optional<WallTime> token_time(std::string_view token) {
  const std::size_t dash = token.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  std::int64_t seconds = 0;
  const char* const end = token.data() + dash;
  const auto parsed = std::from_chars(token.data(), end, seconds, 16);
  if (parsed.ec != std::errc{} || parsed.ptr != end || seconds < 0) return std::nullopt;
  // Whoever wrote more than this did not write a time.
  constexpr std::int64_t kLatest = std::int64_t{1} << 33;
  if (seconds >= kLatest) return std::nullopt;
  return WallTime{std::chrono::seconds{seconds}};
}

std::string encode(const Claim& claim) {
  wire::Object json{{"v", kFormatVersion},      {"state", to_string(claim.state)},
                    {"token", claim.token},     {"namespace", claim.ns},
                    {"pod", claim.pod_name},    {"uid", claim.pod_uid},
                    {"owner", claim.owner_uid}, {"request", claim.request},
                    {"entry", claim.entry},     {"since", format_rfc3339_micro(claim.since)}};
  if (claim.keep > Duration::zero())
    json["keep"] = std::chrono::duration_cast<std::chrono::milliseconds>(claim.keep).count();
  if (claim.pod_port.port != 0) json["port"] = claim.pod_port.port;
  if (claim.pod_port.on_host) json["hostPort"] = true;
  if (claim.until != WallTime{}) json["until"] = format_rfc3339_micro(claim.until);
  return wire::to_json(json);
}

namespace {

Result<Claim> parse_claim(std::string_view annotation) {
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
  const std::optional<SlotState> state = parse_state(wire::string_at(*json, "/state"));
  if (!state) return bad("its state is unknown");
  const Result<WallTime> since = parse_rfc3339(wire::string_at(*json, "/since"));
  if (!since) return bad(since.error().message);
  Claim claim{.state = *state,
              .token = text("/token"),
              .ns = text("/namespace"),
              .pod_name = text("/pod"),
              .pod_uid = text("/uid"),
              .owner_uid = text("/owner"),
              .request = text("/request"),
              .entry = static_cast<int>(wire::int_at(*json, "/entry").value_or(0)),
              .pod_port = {.port = model::port_of(wire::int_at(*json, "/port").value_or(0)),
                           .on_host = wire::bool_at(*json, "/hostPort").value_or(false)},
              .since = *since,
              .keep = std::chrono::milliseconds{wire::int_at(*json, "/keep").value_or(0)}};
  if (const std::string_view until = wire::string_at(*json, "/until"); !until.empty()) {
    const Result<WallTime> parsed = parse_rfc3339(until);
    if (!parsed) return bad(parsed.error().message);
    claim.until = *parsed;
  }
  if (claim.token.empty()) return bad("it has no token");
  return claim;
}

// Of the ports that one reconciliation looks at, and more.
constexpr std::size_t kKnownClaims = 512;

}  // namespace

Result<std::optional<Claim>> decode_claim(std::string_view annotation) {
  if (annotation.empty()) return std::nullopt;
  static thread_local TextMemo<Claim, kKnownClaims> known;
  if (const Claim* const claim = known.find(annotation)) return *claim;
  Result<Claim> parsed = parse_claim(annotation);
  if (!parsed) return pass(parsed);
  known.put(annotation, *parsed);
  return std::move(*parsed);
}

Claim bound_to(Claim claim, std::string pod_name, std::string pod_uid, WallTime now) {
  claim = moved(std::move(claim), bound, now);
  claim.pod_name = std::move(pod_name);
  claim.pod_uid = std::move(pod_uid);
  return claim;
}

Claim taken_back(const Claim& before, Claim admission, WallTime now) {
  admission = moved(std::move(admission), claimed, now);
  // Until the new Pod is seen: whom the load balancer may still lead to.
  admission.pod_uid = before.pod_uid;
  return admission;
}

std::optional<Claim> abandoned(Claim claim, bool leads_nowhere, Duration quarantine, WallTime now) {
  if (claim.state == claimed && leads_nowhere)
    return at_rest(std::move(claim), false, quarantine, now);
  return moved(std::move(claim), draining, now);
}

std::optional<Claim> drained(Claim claim, Duration quarantine, WallTime now) {
  return at_rest(std::move(claim), true, quarantine, now);
}

Claim gone_astray(Claim claim, WallTime now) { return moved(std::move(claim), draining, now); }

std::optional<Claim> window_over(Claim claim, Duration quarantine, Duration rested, WallTime now) {
  // Keeping counts as quarantine: nothing has led here all the while.
  const Duration left = claim.state == kept ? quarantine - rested : Duration::zero();
  if (left <= Duration::zero()) return std::nullopt;
  claim = moved(std::move(claim), quarantined, now);
  claim.keep = {};
  claim.until = now + left;
  return claim;
}

Duration still_waits(const Claim& claim, WallTime until, Duration seen_for, WallTime now) {
  const Duration meant = std::max(between(claim.since, until), Duration::zero());
  const Duration by_clock = std::max(between(now, until), std::min(meant, kClockSkew) - seen_for);
  return std::min(meant - seen_for, by_clock);
}

WallTime kept_until(const Claim& claim, Duration max_keep) {
  return claim.pod_uid.empty() ? claim.since : std::min(claim.until, claim.since + max_keep);
}

}  // namespace berth::ledger
