#include "ledger/grants.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <tuple>

namespace berth::ledger {
namespace {

bool collides(const Grant& a, const Grant& b) {
  return a.transport == b.transport && a.ports.overlaps(b.ports) && !is_same_place(a, b);
}

bool is_of(const Holding& holding, const Grant& grant) {
  return holding.owner.uid == grant.owner.uid && holding.item == grant.item &&
         holding.transport == grant.transport;
}

// One of its owner's listeners lives in it.
bool is_lived_in(const Grant& grant, std::span<const Holding> holdings) {
  return std::ranges::any_of(holdings, [&](const Holding& holding) {
    return is_of(holding, grant) && holding.ports.overlaps(grant.ports);
  });
}

void sort(std::vector<Grant>& grants) {
  std::ranges::sort(grants, {}, [](const Grant& grant) {
    return std::tuple(grant.ports.first, grant.transport);
  });
}

std::string_view way_out(const Grant& other, const Grant& wanted) {
  return other.owner.uid == wanted.owner.uid
             ? "they are free when that item is no longer in the pool and its listeners are gone"
             : "choose other ports, or another load balancer";
}

Error is_granted_to(const Grant& other, const Grant& wanted) {
  return error_of(Code::conflict, "{} ports {}-{} are granted to {}{}{}",
                  model::to_string(wanted.transport), other.ports.first, other.ports.last,
                  other.owner.to_string(), other.item.empty() ? "" : ", item ", other.item)
      .with_hint(std::string(way_out(other, wanted)));
}

Error is_held_by(const Holding& other) {
  return error_of(Code::conflict, "{} ports {}-{} are held by {} of {}",
                  model::to_string(other.transport), other.ports.first, other.ports.last,
                  other.holder, other.owner.to_string())
      .with_hint("choose other ports, or another load balancer");
}

// An item that was taken out of its pool and came back with other ports.
Error lives_elsewhere(const Grant& before, const Holding& living) {
  return error_of(Code::conflict,
                  "{} ports {}-{} of the item's former range {}-{} are in use by {}",
                  model::to_string(before.transport), living.ports.first, living.ports.last,
                  before.ports.first, before.ports.last, living.holder)
      .with_hint("the item gets its new ports when its former listeners are gone");
}

const Holding* living_outside(const Grant& wanted, std::span<const Holding> holdings) {
  const auto it = std::ranges::find_if(holdings, [&](const Holding& holding) {
    return is_of(holding, wanted) && !wanted.ports.contains(holding.ports);
  });
  return it == holdings.end() ? nullptr : &*it;
}

}  // namespace

bool is_same_place(const Grant& a, const Grant& b) {
  return a.owner.uid == b.owner.uid && a.item == b.item && a.transport == b.transport;
}

Result<> check_unheld(std::span<const Holding> holdings, const Grant& wanted) {
  for (const Holding& holding : holdings) {
    if (holding.transport == wanted.transport && holding.ports.overlaps(wanted.ports) &&
        holding.owner.uid != wanted.owner.uid)
      return fail(is_held_by(holding));
  }
  return {};
}

Result<std::vector<Grant>> with_grant(std::vector<Grant> grants, Grant wanted,
                                      std::span<const Holding> holdings) {
  const auto other =
      std::ranges::find_if(grants, [&](const Grant& grant) { return collides(grant, wanted); });
  if (other != grants.end()) return fail(is_granted_to(*other, wanted));
  if (Result<> unheld = check_unheld(holdings, wanted); !unheld) return pass(unheld);
  const std::vector<Grant> before = own_grants(grants, wanted);
  if (!before.empty()) {
    if (const Holding* const living = living_outside(wanted, holdings))
      return fail(lives_elsewhere(before.front(), *living));
    wanted.since = before.front().since;
    std::erase_if(grants, [&](const Grant& grant) { return is_same_place(grant, wanted); });
  }
  grants.push_back(std::move(wanted));
  sort(grants);
  return grants;
}

std::vector<Grant> without_unused(std::vector<Grant> grants, std::span<const Grant> these,
                                  std::span<const Holding> holdings) {
  std::erase_if(grants, [&](const Grant& grant) {
    return std::ranges::find(these, grant) != these.end() && !is_lived_in(grant, holdings);
  });
  return grants;
}

std::vector<Grant> without_given(std::vector<Grant> grants, const Grant& given,
                                 const std::vector<Grant>& before,
                                 std::span<const Holding> holdings) {
  if (is_lived_in(given, holdings) && before.empty()) return grants;
  const auto removed =
      std::erase_if(grants, [&](const Grant& grant) { return is_same_place(grant, given); });
  if (removed == 0) return grants;
  grants.insert(grants.end(), before.begin(), before.end());
  sort(grants);
  return grants;
}

std::vector<Grant> rebuilt(std::span<const Holding> holdings, WallTime now) {
  std::map<std::pair<model::Transport, model::Port>, const Holding*> by_last;  // disjoint
  for (const Holding& holding : holdings) {
    const auto next = by_last.lower_bound({holding.transport, holding.ports.first});
    const bool taken = next != by_last.end() && next->first.first == holding.transport &&
                       next->second->ports.overlaps(holding.ports);
    if (!taken) by_last.emplace(std::pair(holding.transport, holding.ports.last), &holding);
  }
  std::vector<const Holding*> fair;
  for (const auto& [last, holding] : by_last) fair.push_back(holding);
  std::ranges::sort(fair, {}, [](const Holding* holding) {
    return std::tuple(holding->owner.uid, holding->item, holding->transport, holding->ports.first);
  });
  std::vector<Grant> out;
  for (const Holding* holding : fair) {
    const bool goes_on = !out.empty() && is_of(*holding, out.back()) &&
                         out.back().ports.last + 1 == holding->ports.first;
    if (goes_on) {
      out.back().ports.last = holding->ports.last;
    } else {
      out.push_back({holding->transport, holding->ports, holding->owner, holding->item, now});
    }
  }
  sort(out);
  return out;
}

std::vector<Grant> with_holdings(std::vector<Grant> grants, std::span<const Holding> own,
                                 std::span<const Holding> all, WallTime now) {
  std::vector<Holding> lost;
  for (const Holding& holding : own) {
    const Grant wanted{holding.transport, holding.ports, holding.owner, holding.item, now};
    const bool is_anothers =
        std::ranges::any_of(grants, [&](const Grant& grant) { return collides(grant, wanted); });
    if (!is_granted(grants, stand_of(holding)) && !is_anothers && check_unheld(all, wanted))
      lost.push_back(holding);
  }
  std::ranges::move(rebuilt(lost, now), std::back_inserter(grants));
  sort(grants);
  return grants;
}

std::vector<Grant> own_grants(std::span<const Grant> grants, const Grant& wanted) {
  std::vector<Grant> out;
  std::ranges::copy_if(grants, std::back_inserter(out),
                       [&](const Grant& grant) { return is_same_place(grant, wanted); });
  return out;
}

bool has_grant(std::span<const Grant> grants, const Grant& wanted) {
  return std::ranges::any_of(grants, [&](const Grant& grant) {
    return is_same_place(grant, wanted) && grant.ports.contains(wanted.ports);
  });
}

bool may_shrink(std::span<const Grant> grants, const Grant& wanted,
                std::span<const Holding> holdings) {
  const bool has_more = std::ranges::any_of(grants, [&](const Grant& grant) {
    return is_same_place(grant, wanted) && !wanted.ports.contains(grant.ports);
  });
  return has_more && !living_outside(wanted, holdings);
}

bool is_granted(std::span<const Grant> grants, const Stand& stand) {
  return std::ranges::any_of(grants, [&](const Grant& grant) {
    return grant.transport == stand.transport && grant.ports.contains(stand.ports) &&
           grant.owner.uid == stand.owner_uid && grant.owner.ns == stand.owner_ns &&
           grant.item == stand.item;
  });
}

}  // namespace berth::ledger
