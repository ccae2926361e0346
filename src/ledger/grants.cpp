#include "ledger/grants.h"

#include <algorithm>
#include <tuple>

namespace berth::ledger {
namespace {

bool is_same_place(const Grant& a, const Grant& b) {
  return a.owner.uid == b.owner.uid && a.item == b.item && a.protocol == b.protocol;
}

bool collides(const Grant& a, const Grant& b) {
  return a.protocol == b.protocol && a.ports.overlaps(b.ports) && !is_same_place(a, b);
}

bool contains(const model::PortRange& all, const model::PortRange& some) {
  return all.first <= some.first && some.last <= all.last;
}

void sort(std::vector<Grant>& grants) {
  std::ranges::sort(
      grants, {}, [](const Grant& grant) { return std::tuple(grant.ports.first, grant.protocol); });
}

std::string_view way_out(const Grant& other, const Grant& wanted) {
  return other.owner.uid == wanted.owner.uid
             ? "they are free when that item is no longer in the pool and its listeners are gone"
             : "choose other ports, or another load balancer";
}

}  // namespace

Result<std::vector<Grant>> with_grant(std::vector<Grant> grants, Grant wanted) {
  const auto other =
      std::ranges::find_if(grants, [&](const Grant& grant) { return collides(grant, wanted); });
  if (other != grants.end()) {
    return fail(error_of(Code::conflict, "{} ports {}-{} are granted to {}{}{}",
                         model::to_string(wanted.protocol), other->ports.first, other->ports.last,
                         other->owner.to_string(), other->item.empty() ? "" : ", item ",
                         other->item)
                    .with_hint(std::string(way_out(*other, wanted))));
  }
  const auto own = std::ranges::find_if(
      grants, [&](const Grant& grant) { return is_same_place(grant, wanted); });
  if (own != grants.end()) {
    wanted.since = own->since;
    *own = std::move(wanted);
  } else {
    grants.push_back(std::move(wanted));
  }
  sort(grants);
  return grants;
}

std::vector<Grant> without_owner(std::vector<Grant> grants, std::string_view owner_uid,
                                 std::string_view item) {
  std::erase_if(grants, [&](const Grant& grant) {
    return grant.owner.uid == owner_uid && (item.empty() || grant.item == item);
  });
  return grants;
}

std::vector<Grant> without_given(std::vector<Grant> grants, const Grant& given,
                                 const std::optional<Grant>& before) {
  const auto removed =
      std::erase_if(grants, [&](const Grant& grant) { return is_same_place(grant, given); });
  if (removed == 0 || !before) return grants;
  grants.push_back(*before);
  sort(grants);
  return grants;
}

std::optional<Grant> own_grant(std::span<const Grant> grants, const Grant& wanted) {
  const auto own = std::ranges::find_if(
      grants, [&](const Grant& grant) { return is_same_place(grant, wanted); });
  return own == grants.end() ? std::nullopt : std::optional(*own);
}

bool has_grant(std::span<const Grant> grants, const Grant& wanted) {
  return std::ranges::any_of(grants, [&](const Grant& grant) {
    return is_same_place(grant, wanted) && contains(grant.ports, wanted.ports);
  });
}

bool is_granted(std::span<const Grant> grants, std::string_view owner_uid, model::Protocol protocol,
                const model::PortRange& ports) {
  return std::ranges::any_of(grants, [&](const Grant& grant) {
    return grant.owner.uid == owner_uid && grant.protocol == protocol &&
           contains(grant.ports, ports);
  });
}

}  // namespace berth::ledger
