#include "frontend/contenders.h"

#include <algorithm>

#include "claims/slot.h"

namespace berth::frontend {
namespace {

std::string name_of(const Owner& owner) {
  return claims::owner_key(owner.type.kind, listeners_key(owner));
}

}  // namespace

void Contenders::put(const Owner& owner, const std::vector<WantedGrant>& wanted) {
  const MutexLock lock(mu_);
  drop(owner.uid);
  if (wanted.empty()) return;
  Contender& contender = contenders_[owner.uid];
  contender.owner = owner;
  by_name_[name_of(owner)].insert(owner.uid);
  for (const WantedGrant& one : wanted) {
    contender.wants[one.lb].push_back({one.grant.transport, one.grant.ports});
    by_lb_[one.lb].insert(owner.uid);
  }
}

void Contenders::erase(const std::string& owner_uid) {
  const MutexLock lock(mu_);
  drop(owner_uid);
}

void Contenders::erase_former(std::string_view kind, const kube::ObjectKey& key,
                              const std::string& uid) {
  const MutexLock lock(mu_);
  const auto named = by_name_.find(claims::owner_key(kind, key));
  if (named == by_name_.end()) return;
  for (const std::string& former : std::set<std::string>(named->second))
    if (former != uid) drop(former);
}

void Contenders::forget(std::string_view kind) {
  const MutexLock lock(mu_);
  std::vector<std::string> gone;
  for (const auto& [uid, contender] : contenders_)
    if (contender.owner.type.kind == kind) gone.push_back(uid);
  for (const std::string& uid : gone) drop(uid);
}

std::optional<Owner> Contenders::older_than(const Owner& owner, const WantedGrant& wanted) const {
  const MutexLock lock(mu_);
  const auto on_lb = by_lb_.find(wanted.lb);
  if (on_lb == by_lb_.end()) return std::nullopt;
  const Owner* oldest = nullptr;
  for (const std::string& uid : on_lb->second) {
    const Contender& other = contenders_.at(uid);
    if (uid == owner.uid || !goes_before(other.owner, oldest ? *oldest : owner)) continue;
    const bool same = std::ranges::any_of(other.wants.at(wanted.lb), [&](const Want& want) {
      return want.transport == wanted.grant.transport && want.ports.overlaps(wanted.grant.ports);
    });
    if (same) oldest = &other.owner;
  }
  return oldest ? std::optional(*oldest) : std::nullopt;
}

void Contenders::drop(const std::string& owner_uid) {
  const auto it = contenders_.find(owner_uid);
  if (it == contenders_.end()) return;
  for (const auto& [lb, wants] : it->second.wants) {
    const auto on_lb = by_lb_.find(lb);
    on_lb->second.erase(owner_uid);
    if (on_lb->second.empty()) by_lb_.erase(on_lb);
  }
  const auto named = by_name_.find(name_of(it->second.owner));
  named->second.erase(owner_uid);
  if (named->second.empty()) by_name_.erase(named);
  contenders_.erase(it);
}

}  // namespace berth::frontend
