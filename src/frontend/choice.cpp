#include "frontend/choice.h"

#include <algorithm>

namespace berth::frontend {
namespace {

bool fits(const OpenWant& want, const model::PortRange& ports) {
  return ports.size() == want.length && want.range.first <= ports.first &&
         ports.last <= want.range.last;
}

bool is_of(const OpenWant& want, model::Transport transport) {
  return std::ranges::find(want.transports, transport) != want.transports.end();
}

// The ports that the part has on one load balancer; the lowest, if somebody gave it several.
std::optional<model::PortRange> granted_before(const Owner& owner, const OpenWant& want,
                                               const std::vector<ledger::Grant>& grants) {
  std::optional<model::PortRange> out;
  for (const ledger::Grant& grant : grants) {
    if (grant.owner.uid != owner.uid || grant.item != want.part || !is_of(want, grant.transport) ||
        !fits(want, grant.ports))
      continue;
    if (!out || grant.ports.first < out->first) out = grant.ports;
  }
  return out;
}

// Nobody else has or holds them for one of the transports.
bool is_free(const Owner& owner, const OpenWant& want, const model::PortRange& ports,
             const std::vector<ledger::Holding>& holdings) {
  return std::ranges::none_of(holdings, [&](const ledger::Holding& holding) {
    return is_of(want, holding.transport) && holding.ports.overlaps(ports) &&
           (holding.owner.uid != owner.uid || holding.item != want.part);
  });
}

// Ports that others were granted for one of the transports, the lowest first.
std::vector<model::PortRange> taken_ports(const Owner& owner, const OpenWant& want,
                                          const std::vector<ledger::Grant>& grants) {
  std::vector<model::PortRange> out;
  for (const ledger::Grant& grant : grants) {
    const bool own = grant.owner.uid == owner.uid && grant.item == want.part;
    if (!own && is_of(want, grant.transport)) out.push_back(grant.ports);
  }
  std::ranges::sort(out, {}, &model::PortRange::first);
  return out;
}

std::optional<model::PortRange> lowest_free(const Owner& owner, const OpenWant& want,
                                            const model::LoadBalancerRef& lb, const Room& room,
                                            const std::vector<ledger::Grant>& grants) {
  const std::vector<model::PortRange> taken = taken_ports(owner, want, grants);
  auto next = taken.begin();
  // Wider than a port, so that it can lie behind the last one.
  std::uint32_t first = want.range.first;
  while (first + want.length - 1 <= want.range.last) {
    const model::PortRange ports{static_cast<model::Port>(first),
                                 static_cast<model::Port>(first + want.length - 1)};
    while (next != taken.end() && next->last < ports.first) ++next;
    if (next != taken.end() && next->first <= ports.last) {
      first = next->last + 1u;
    } else if (is_free(owner, want, ports, room.holdings_in(lb, ports))) {
      return ports;
    } else {
      ++first;
    }
  }
  return std::nullopt;
}

Error nothing_left(const OpenWant& want) {
  std::string lbs;
  for (const model::LoadBalancerRef& lb : want.lbs)
    lbs += (lbs.empty() ? "" : ", ") + model::to_string(lb);
  return error_of(Code::exhausted, "no {} of {}-{} is free on {}",
                  want.length > 1 ? fmt::format("{} ports in a row", want.length) : "port",
                  want.range.first, want.range.last, lbs.empty() ? "no load balancer" : lbs)
      .with_hint("widen the range, add a load balancer, or delete what is not used any more");
}

}  // namespace

Result<Choice> choose(const Owner& owner, const OpenWant& want, const Room& room) {
  for (const model::LoadBalancerRef& lb : want.lbs) {
    const std::vector<ledger::Grant> grants = room.grants_on(lb);
    const auto before = granted_before(owner, want, grants);
    if (!before || !is_free(owner, want, *before, room.holdings_in(lb, *before))) continue;
    // Perhaps it has them for one transport, and somebody else for the other.
    const bool shared =
        std::ranges::any_of(taken_ports(owner, want, grants),
                            [&](const model::PortRange& taken) { return taken.overlaps(*before); });
    if (!shared) return Choice{lb, *before};
  }
  for (const model::LoadBalancerRef& lb : want.lbs) {
    if (!room.has_room(lb, want.transports.size())) continue;
    if (const auto ports = lowest_free(owner, want, lb, room, room.grants_on(lb)))
      return Choice{lb, *ports};
  }
  return fail(nothing_left(want));
}

std::vector<WantedGrant> grants_of(const Owner& owner, const OpenWant& want, const Choice& choice,
                                   WallTime now) {
  std::vector<WantedGrant> out;
  for (const model::Transport transport : want.transports)
    out.push_back({.lb = choice.lb,
                   .grant = {.transport = transport,
                             .ports = choice.ports,
                             .owner = grant_owner(owner),
                             .item = want.part,
                             .since = now}});
  return out;
}

}  // namespace berth::frontend
