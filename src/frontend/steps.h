// The steps that every front end takes around its own: before it looks at an owner, and when one
// goes. What the kit does not know is how an owner's object is written, which is why these are
// templates over its client.
#pragma once

#include <boost/json.hpp>
#include <optional>
#include <set>

#include "api/kind.h"
#include "api/load_balancer.h"
#include "api/walkers.h"
#include "claims/finalizer.h"
#include "frontend/keeper.h"
#include "kube/cache/typed.h"
#include "kube/runtime/controller.h"

namespace berth::frontend {

// What overtook us may have come and gone before we looked, or concern us so little that no change
// brings the key back. The caches have caught up by then.
inline constexpr Duration kCatchUp = std::chrono::seconds{1};

// What a write that found its object changed makes of a look.
inline Result<kube::Requeue> overtaken_or(const Error& error) {
  if (kube::was_overtaken(error)) return kube::Requeue{.after = kCatchUp};
  return fail(error);
}

// First at each look at a name: its grants are settled, and a living owner has our finalizer.
// Nothing: the owner is there, and is to be looked at. Otherwise this look is over.
template <class T>
Result<std::optional<kube::Requeue>> begin(const Context& context, const Keeper& keeper,
                                           const kube::Typed<T>& objects,
                                           const kube::ObjectKey& key, const T* object) {
  Round round;
  if (Result<> settled =
          keeper.settle_grants(context, objects.type(), key, object ? object->meta.uid : "", round);
      !settled)
    return pass(settled);
  if (round.overtaken) return kube::Requeue{.after = kCatchUp};
  if (!object) return kube::Requeue{};
  if (object->meta.deleting || claims::has_our_finalizer(object->meta)) return std::nullopt;
  const auto taken = objects.patch(context, key, kube::PatchType::json,
                                   claims::finalizer_patch(object->meta, true));
  if (taken) return kube::Requeue{};  // our own write brings it back
  Result<kube::Requeue> next = overtaken_or(taken.error());
  if (!next) return pass(next);
  return *next;
}

// Of an owner that is being deleted: when nothing of it is left, it may go.
template <class T>
Result<kube::Requeue> let_go(const Context& context, const Keeper& keeper,
                             const kube::Typed<T>& objects, const T& object, const Owner& owner) {
  if (!claims::has_our_finalizer(object.meta)) return kube::Requeue{};
  Round round;
  const Result<bool> gone = keeper.let_go(context, owner, round);
  if (!gone) return fail(gone.error());
  if (!*gone)
    return kube::Requeue{.after = round.overtaken ? std::optional(kCatchUp) : std::nullopt};
  const Result<> freed = objects.patch_away(context, object.meta.key(), kube::PatchType::json,
                                            claims::finalizer_patch(object.meta, false));
  return freed ? Result<kube::Requeue>(kube::Requeue{}) : overtaken_or(freed.error());
}

// What an owner's users are told, where that has changed. False: somebody was faster, and the owner
// is to be looked at again.
template <class T, class Status>
Result<bool> write_status(const Context& context, const kube::Typed<T>& objects,
                          const api::KindInfo& kind, const T& object, const Status& status) {
  const wire::Object wanted = api::encode(status);
  if (wanted == api::encode(object.status)) return true;
  // A JSON Patch, because a merge would leave members that went away.
  const wire::Array patch{
      wire::Object{{"op", "test"}, {"path", "/metadata/uid"}, {"value", object.meta.uid}},
      wire::Object{{"op", "add"}, {"path", "/status"}, {"value", wanted}}};
  const auto how = kube::PatchType::json;
  const auto written = kind.status_subresource
                           ? objects.patch_status(context, object.meta.key(), how, patch)
                           : objects.patch(context, object.meta.key(), how, patch);
  if (!written && !kube::was_overtaken(written.error())) return fail(written.error());
  return written.has_value();
}

// Grants of all parts that have no report yet. `refused` hears of each that another has.
template <class Refused>
Result<std::map<std::string, PartReport>> ensure_all(const Context& context, const Keeper& keeper,
                                                     const Owner& owner,
                                                     const std::vector<WantedPart>& parts,
                                                     std::map<std::string, PartReport> reports,
                                                     const Refused& refused) {
  for (const WantedPart& part : parts) {
    if (reports.contains(part.name)) continue;
    Result<PartReport> report = keeper.ensure_grants(context, owner, part, refused);
    if (!report) return pass(report);
    reports[part.name] = std::move(*report);
  }
  return reports;
}

// The owner of this kind that the Listener belongs to; nothing where it is another kind's, or
// another controller's.
std::optional<kube::ObjectKey> owner_named_by(const api::Listener& listener,
                                              const kube::ResourceType& type);

// Owners of a kind to whom a change of the block says something: those that have a grant in it, or
// had; where grants came to it and nothing else happened, those who got them.
std::set<kube::ObjectKey> owners_in(const kube::Change<api::PortBlock>& change,
                                    const kube::ResourceType& type);

// The same of a load balancer, with those whose grants lie in its blocks. Most writes of a load
// balancer with many owners are a grant for one of them, and a number of listeners that grows.
std::set<kube::ObjectKey> owners_on(const kube::Change<api::LoadBalancer>& change,
                                    const kube::ResourceType& type, const claims::GrantBook& book);

}  // namespace berth::frontend
