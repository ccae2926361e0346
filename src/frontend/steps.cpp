#include "frontend/steps.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <vector>

#include "api/keys.h"

namespace berth::frontend {
namespace {

using Grants = std::vector<api::Grant>;

std::vector<const api::Grant*> in_order(const Grants& grants) {
  std::vector<const api::Grant*> out;
  for (const api::Grant& grant : grants) out.push_back(&grant);
  std::ranges::sort(out, {}, [](const api::Grant* one) {
    return std::tie(one->start_port, one->end_port, one->protocol, one->owner_uid, one->item);
  });
  return out;
}

bool overlap(const api::Grant& a, const api::Grant& b) {
  return a.protocol == b.protocol && a.start_port <= b.end_port && b.start_port <= a.end_port;
}

// What came to a list from which nothing went and in which nothing changed. Nothing: it is
// otherwise, or what came lies on what is somebody's; then it concerns all.
std::optional<std::vector<const api::Grant*>> added(const Grants& before, const Grants& after) {
  std::vector<const api::Grant*> out;
  const auto old = in_order(before);
  const auto now = in_order(after);
  std::size_t i = 0;
  for (const api::Grant* const one : now) {
    if (i < old.size() && *old[i] == *one) {
      ++i;
    } else {
      out.push_back(one);
    }
  }
  if (i < old.size()) return std::nullopt;
  for (const api::Grant* const one : out)
    for (const api::Grant* const other : now)
      if (one != other && overlap(*one, *other)) return std::nullopt;
  return out;
}

void add_owner(std::set<kube::ObjectKey>& out, const api::Grant& grant,
               const kube::ResourceType& type) {
  if (grant.owner_kind == type.kind)
    out.insert(object_key(type, {grant.owner_namespace, grant.owner_name}));
}

template <class T>
std::set<kube::ObjectKey> all_in(const kube::Change<T>& change, const kube::ResourceType& type) {
  std::set<kube::ObjectKey> out;
  for (const auto& object : {change.before, change.after}) {
    if (!object) continue;
    for (const api::Grant& grant : object->spec.grants) add_owner(out, grant, type);
  }
  return out;
}

bool is_same_object(const kube::ObjectMeta& a, const kube::ObjectMeta& b) {
  return a.uid == b.uid && a.deleting == b.deleting;
}

// That it has more listeners is no news for those who have some, and leaves no room for others.
bool has_no_news(const api::LoadBalancer& before, const api::LoadBalancer& after) {
  api::LoadBalancerStatus status = after.status;
  if (status.listeners_used > before.status.listeners_used)
    status.listeners_used = before.status.listeners_used;
  const auto place = [](const api::LoadBalancerSpec& spec) {
    return std::tie(spec.provider, spec.account, spec.region, spec.load_balancer_id);
  };
  return is_same_object(before.meta, after.meta) && status == before.status &&
         place(before.spec) == place(after.spec);
}

bool has_no_news(const api::PortBlock& before, const api::PortBlock& after) {
  const auto place = [](const api::PortBlockSpec& spec) {
    return std::tie(spec.load_balancer, spec.protocol, spec.start_port, spec.end_port, spec.closed);
  };
  return is_same_object(before.meta, after.meta) && place(before.spec) == place(after.spec);
}

// Those who got something, if that is all that happened. That a block has come is told by the
// block.
template <class T>
std::optional<std::set<kube::ObjectKey>> who_got(const kube::Change<T>& change,
                                                 const kube::ResourceType& type) {
  if (!change.before || !change.after || !has_no_news(*change.before, *change.after))
    return std::nullopt;
  const auto more = added(change.before->spec.grants, change.after->spec.grants);
  if (!more) return std::nullopt;
  std::set<kube::ObjectKey> out;
  for (const api::Grant* const grant : *more) add_owner(out, *grant, type);
  return out;
}

}  // namespace

std::optional<kube::ObjectKey> owner_named_by(const api::Listener& listener,
                                              const kube::ResourceType& type) {
  if (claims::is_foreign(listener)) return std::nullopt;
  claims::OwnerName owner = claims::owner_of(listener);
  if (owner.kind != type.kind) return std::nullopt;
  // A label has less room than a name, which is in the owner reference in full.
  for (const kube::OwnerReference& one : listener.meta.owners)
    if (one.kind.view() == type.kind && api::label_value(one.name) == owner.key.name)
      return object_key(type, {owner.key.ns, one.name});
  return object_key(type, owner.key);
}

std::set<kube::ObjectKey> owners_in(const kube::Change<api::PortBlock>& change,
                                    const kube::ResourceType& type) {
  if (auto some = who_got(change, type)) return std::move(*some);
  return all_in(change, type);
}

std::set<kube::ObjectKey> owners_on(const kube::Change<api::LoadBalancer>& change,
                                    const kube::ResourceType& type, const claims::GrantBook& book) {
  if (auto some = who_got(change, type)) return std::move(*some);
  std::set<kube::ObjectKey> out = all_in(change, type);
  for (const ledger::Grant& grant : book.on(change.object().meta.name))
    if (grant.owner.kind == type.kind)
      out.insert(object_key(type, {grant.owner.ns, grant.owner.name}));
  return out;
}

}  // namespace berth::frontend
