#include "claims/slot.h"

#include <boost/json.hpp>

#include "api/keys.h"
#include "api/walkers.h"
#include "base/fnv.h"

namespace berth::claims {
namespace {

// Over the parts of a spec, each ended by a byte that no part has.
class Hash {
 public:
  Hash& add(std::string_view text) {
    hash_.add(text).add(static_cast<unsigned char>(0xff));
    return *this;
  }
  Hash& add(std::int64_t number) { return add(fmt::format("{}", number)); }
  std::string text() const { return fmt::format("{:016x}", hash_.value()); }

 private:
  Fnv1a64 hash_;
};

template <class T>
void add_part(Hash& hash, const T& part) {
  hash.add(part ? wire::to_json(api::encode(*part)) : std::string());
}

std::string_view applied_text(const api::Listener& listener) {
  return kube::get(listener.meta.annotations, kAppliedAnnotation);
}

// Whom it leads to: "1f0c…-".
std::string targets_hash(const api::ListenerSpec& spec) {
  Hash hash;
  hash.add(spec.load_balancer_id).add(spec.protocol).add(spec.port).add(spec.end_port);
  if (spec.target_group) {
    for (const api::ListenerBackend& backend : spec.target_group->backends)
      hash.add(backend.ip).add(backend.port).add(backend.weight);
  }
  for (const api::ListenerRule& rule : spec.rules) hash.add(wire::to_json(api::encode(rule)));
  return hash.text() + "-";
}

std::string attributes_hash(const api::ListenerSpec& spec) {
  Hash hash;
  add_part(hash, spec.listener_attribute);
  add_part(hash, spec.certificate);
  return hash.text();
}

}  // namespace

void add_indexes(ListenerStore& store, const model::LoadBalancerDefaults& defaults) {
  store.add_index(std::string(kOwnerIndex), [](const api::Listener& listener, kube::EmitKey emit) {
    if (is_foreign(listener)) return;
    const OwnerName owner = owner_of(listener);
    if (!owner.kind.empty()) emit(owner_key(owner.kind, owner.key));
  });
  store.add_index(std::string(kTokenIndex), [](const api::Listener& listener, kube::EmitKey emit) {
    const auto claim = claim_of(listener);
    if (claim && claim->state == ledger::SlotState::claimed) emit(claim->token);
  });
  store.add_index(std::string(kPodIndex), [](const api::Listener& listener, kube::EmitKey emit) {
    const auto claim = claim_of(listener);
    if (claim && !claim->pod_name.empty())
      emit(kube::ObjectKey{claim->ns, claim->pod_name}.to_string());
  });
  store.add_index(std::string(kBalancerIndex),
                  [defaults](const api::Listener& listener, kube::EmitKey emit) {
                    if (is_foreign(listener)) return;
                    const auto ref = load_balancer_of(listener, defaults);
                    emit(ref ? model::object_name(*ref) : std::string(kNoBalancer));
                  });
  store.add_index(std::string(kForeignIndex),
                  [defaults](const api::Listener& listener, kube::EmitKey emit) {
                    if (!is_foreign(listener)) return;
                    if (const auto ref = load_balancer_of(listener, defaults))
                      emit(model::object_name(*ref));
                  });
}

bool is_foreign(const api::Listener& listener) {
  // One that somebody wrote by hand has no owner; of ours, people may have taken an annotation off.
  return kube::has(listener.meta.labels, api::kOwnerKindKey) &&
         !kube::has(listener.meta.annotations, kItemAnnotation) &&
         !kube::has(listener.meta.annotations, ledger::kClaimAnnotation) &&
         !kube::has(listener.meta.annotations, kLockAnnotation);
}

OwnerName owner_of(const api::Listener& listener) {
  return {std::string(kube::get(listener.meta.labels, api::kOwnerKindKey)),
          {std::string(listener.meta.ns.view()),
           std::string(kube::get(listener.meta.labels, api::kOwnerNameKey))}};
}

std::string owner_key(std::string_view kind, const kube::ObjectKey& key) {
  return fmt::format("{} {}/{}", kind, key.ns, api::label_value(key.name));
}

bool belongs_to_pool(const api::Listener& listener) {
  return kube::get(listener.meta.labels, api::kOwnerKindKey) == kPoolOwner && !is_foreign(listener);
}

kube::ObjectKey pool_of(const api::Listener& listener) { return owner_of(listener).key; }

std::string_view item_of(const api::Listener& listener) {
  return kube::get(listener.meta.annotations, kItemAnnotation);
}

std::optional<model::Protocol> protocol_of(const api::Listener& listener) {
  const Result<model::Protocol> protocol = api::parse_pool_protocol(listener.spec.protocol);
  return protocol ? std::optional(*protocol) : std::nullopt;
}

bool has_name_of_its_port(const api::Listener& listener, const model::LoadBalancerRef& lb) {
  const auto protocol = protocol_of(listener);
  return protocol &&
         listener.meta.name == api::pool_listener_name(lb, *protocol, api::ports_of(listener.spec));
}

std::span<const model::Transport> transports_of(const api::Listener& listener) {
  const Result<model::Protocol> protocol = model::parse_protocol(listener.spec.protocol);
  return protocol ? model::transports_of(*protocol) : std::span<const model::Transport>{};
}

std::optional<model::LoadBalancerRef> load_balancer_of(
    const api::Listener& listener, const model::LoadBalancerDefaults& defaults) {
  if (auto stored =
          model::parse_canonical(kube::get(listener.meta.annotations, kBalancerAnnotation)))
    return stored;
  Result<model::LoadBalancerRef> ref =
      model::parse_load_balancer(listener.spec.load_balancer_id, defaults);
  if (!ref) return std::nullopt;
  const std::string_view region = kube::get(listener.meta.labels, api::kLoadBalancerRegionLabel);
  if (!region.empty()) ref->region = std::string(region);
  return *ref;
}

std::string_view found_by(const api::Listener& listener) {
  return kube::get(listener.meta.annotations, kFoundByAnnotation);
}

std::string_view claim_text(const api::Listener& listener) {
  return kube::get(listener.meta.annotations, ledger::kClaimAnnotation);
}

bool is_peer(const api::Listener& listener) {
  return !kube::get(listener.meta.annotations, kLockAnnotation).empty();
}

bool is_lock(const api::Listener& listener) {
  return kube::has(listener.meta.annotations, ledger::kClaimAnnotation) && !is_peer(listener);
}

std::optional<ledger::Claim> claim_of(const api::Listener& listener) {
  if (is_peer(listener)) return std::nullopt;
  Result<std::optional<ledger::Claim>> claim = ledger::decode_claim(claim_text(listener));
  return claim ? std::move(*claim) : std::nullopt;
}

bool is_unreadable(const api::Listener& listener) {
  return !is_peer(listener) && !claim_text(listener).empty() && !claim_of(listener);
}

std::string spec_hash(const api::ListenerSpec& spec) {
  return targets_hash(spec) + attributes_hash(spec);
}

std::string still_applied(const api::Listener& listener, const api::ListenerSpec& next) {
  const std::string targets = targets_hash(next);
  const bool same = targets == targets_hash(listener.spec) && are_targets_applied(listener);
  return same ? targets : std::string();
}

bool is_applied(const api::Listener& listener) {
  return applied_text(listener) == spec_hash(listener.spec);
}

bool are_targets_applied(const api::Listener& listener) {
  return applied_text(listener).starts_with(targets_hash(listener.spec));
}

bool has_targets(const api::ListenerSpec& spec) { return !api::backends_of(spec).empty(); }

bool leads_nowhere(const api::Listener& listener) {
  return !has_targets(listener.spec) && are_targets_applied(listener);
}

}  // namespace berth::claims
