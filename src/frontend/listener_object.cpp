#include "frontend/listener_object.h"

#include <boost/json.hpp>
#include <tuple>

#include "api/keys.h"
#include "api/walkers.h"

namespace berth::frontend {

using wire::Array;
using wire::Object;
using wire::Value;

claims::Identity identity_of(const Owner& owner, const WantedListener& wanted) {
  return {.ns = owner.listeners_ns,
          .name = wanted.name,
          .lb = wanted.lb,
          .protocol = model::parse_protocol(wanted.spec.protocol).value_or(model::Protocol::tcp),
          .ports = api::ports_of(wanted.spec),
          .owner_uid = owner.uid,
          .item = wanted.part,
          .lock = wanted.lock,
          .peers = wanted.peers,
          .found_by = wanted.found_by};
}

claims::ListenerChange::Belonging belonging_of(const Owner& owner, const WantedListener& wanted) {
  Labels labels = wanted.labels ? *wanted.labels : Labels{};
  // By these it is found again, whatever else its front end writes.
  labels.try_emplace(std::string(api::kOwnerKindKey), owner.type.kind);
  labels.try_emplace(std::string(api::kOwnerNameKey), api::label_value(owner.key.name));
  labels.try_emplace(std::string(api::kLoadBalancerIdLabel),
                     api::label_value(model::listener_base_name(wanted.lb)));
  return {.labels = std::move(labels), .owner = reference_to(owner)};
}

Value new_listener(const Owner& owner, const WantedListener& wanted, const claims::Marks& marks) {
  const kube::ResourceType& type = api::listener_kind().type;
  const auto belonging = belonging_of(owner, wanted);
  Object labels;
  for (const auto& [key, value] : belonging.labels) labels[key] = value;
  Object annotations{{claims::kItemAnnotation, wanted.part},
                     {claims::kBalancerAnnotation, marks.balancer},
                     {claims::kSealAnnotation, marks.seal}};
  if (wanted.is_lock()) annotations[ledger::kClaimAnnotation] = "";
  if (!wanted.lock.empty()) annotations[claims::kLockAnnotation] = wanted.lock;
  if (!wanted.peers.empty()) annotations[claims::kPeersAnnotation] = wanted.peers;
  if (!wanted.found_by.empty()) annotations[claims::kFoundByAnnotation] = wanted.found_by;
  Object status{{"status", api::kNotSynced}};
  if (const std::string_view field = api::owner_field(owner.type.kind); !field.empty())
    status[field] = owner.key.name;
  return Object{{"apiVersion", type.api_version()},
                {"kind", type.kind},
                {"metadata", Object{{"namespace", owner.listeners_ns},
                                    {"name", wanted.name},
                                    {"labels", labels},
                                    {"annotations", annotations},
                                    {"finalizers", Array{Value(api::kFinalizer)}},
                                    {"ownerReferences", Array{belonging.owner}}}},
                {"spec", api::encode(wanted.spec)},
                {"status", status}};
}

bool is_another(const api::Listener& a, const api::Listener& b) {
  for (const std::string_view key :
       {claims::kSealAnnotation, claims::kBalancerAnnotation, claims::kItemAnnotation,
        claims::kLockAnnotation, claims::kPeersAnnotation, claims::kFoundByAnnotation}) {
    if (kube::get(a.meta.annotations, key) != kube::get(b.meta.annotations, key)) return true;
  }
  return std::tie(a.spec.load_balancer_id, a.spec.protocol, a.spec.port, a.spec.end_port) !=
             std::tie(b.spec.load_balancer_id, b.spec.protocol, b.spec.port, b.spec.end_port) ||
         a.meta.owners != b.meta.owners || claims::owner_of(a) != claims::owner_of(b);
}

}  // namespace berth::frontend
