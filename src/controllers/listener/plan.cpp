#include "controllers/listener/plan.h"

#include <algorithm>
#include <boost/json.hpp>
#include <span>

#include "api/keys.h"
#include "api/walkers.h"
#include "claims/slot.h"
#include "crypto/digest.h"

namespace berth::controllers::listener {
namespace {

using wire::Array;
using wire::Object;
using wire::Value;

// The shortest limit of a provider has room for this, a digest and something for people.
constexpr std::size_t kMaxClusterId = 32;
// Of a digest: no two objects of a cluster meet in 64 bits.
constexpr std::size_t kDigestLength = 16;

std::uint32_t seconds(std::int64_t value) {
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(value, 0, 1'000'000));
}

model::Scheduler scheduler_of(const std::string& policy) {
  if (policy == "LEAST_CONN") return model::Scheduler::least_connections;
  if (policy == "IP_HASH") return model::Scheduler::source_ip;
  return model::Scheduler::weighted_round_robin;
}

model::ListenerAttributes attributes_of(const api::ListenerSpec& spec) {
  model::ListenerAttributes out;
  if (!spec.listener_attribute) return out;
  const api::ListenerAttribute& attribute = *spec.listener_attribute;
  out.scheduler = scheduler_of(attribute.lb_policy);
  out.session_seconds = seconds(attribute.session_time);
  if (!attribute.health_check) return out;
  const api::ListenerHealthCheck& check = *attribute.health_check;
  out.health_check = model::HealthCheck{.enabled = check.enabled,
                                        .timeout_seconds = seconds(check.timeout),
                                        .interval_seconds = seconds(check.interval_time),
                                        .healthy_count = seconds(check.health_num),
                                        .unhealthy_count = seconds(check.unhealth_num),
                                        .port = static_cast<model::Port>(std::clamp<std::int64_t>(
                                            check.health_check_port, 0, 65535))};
  return out;
}

std::vector<model::WeightedTarget> targets_of(const api::ListenerSpec& spec) {
  std::vector<model::WeightedTarget> out;
  if (!spec.target_group) return out;
  for (const api::ListenerBackend& backend : spec.target_group->backends) {
    out.push_back({{backend.ip, static_cast<model::Port>(backend.port)},
                   static_cast<std::uint32_t>(std::max<std::int64_t>(backend.weight, 0))});
  }
  std::ranges::sort(out);
  const auto same = std::ranges::unique(out, {}, &model::WeightedTarget::target);
  out.erase(same.begin(), same.end());
  return out;
}

bool overlaps(const api::Grant& grant, const model::PortRange& ports) {
  return grant.start_port <= ports.last && ports.first <= grant.end_port;
}

bool is_owned_by(const api::Listener& listener, const api::Grant& grant) {
  return listener.meta.ns.view() == grant.owner_namespace && !grant.owner_uid.empty() &&
         std::ranges::any_of(listener.meta.owners, [&](const kube::OwnerReference& owner) {
           return owner.uid == grant.owner_uid;
         });
}

void add_missing(const std::vector<api::Grant>& from, const std::vector<api::Grant>& in,
                 std::vector<api::Grant>& out) {
  for (const api::Grant& grant : from) {
    if (std::ranges::find(in, grant) == in.end()) out.push_back(grant);
  }
}

Object put(std::string path, Value value) {
  return {{"op", "add"}, {"path", std::move(path)}, {"value", std::move(value)}};
}
void put_text(std::string_view path, std::string_view now, std::string_view wanted, Array& patch) {
  if (now != wanted) patch.push_back(put(std::string(path), Value(wanted)));
}

}  // namespace

std::string Naming::listener_name(const api::Listener& listener, model::Provider provider) const {
  const std::string key = listener.meta.key().to_string();
  const std::string digest = crypto::sha256_hex(key).substr(0, kDigestLength);
  const std::string begin = prefix();
  const std::size_t longest = model::traits_of(provider).abilities.max_listener_name;
  const std::size_t room = longest - begin.size() - digest.size() - 1;
  return fmt::format("{}{}_{}", begin, listener.meta.name.substr(0, room), digest);
}

Result<> check_cluster_id(std::string_view id) {
  const auto is_inner = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  };
  if (!id.empty() && id.size() <= kMaxClusterId && std::ranges::all_of(id, is_inner) &&
      id.front() != '-' && id.back() != '-')
    return {};
  return fail(Code::invalid,
              "'{}' is not a cluster id: at most {} lower-case letters, digits and '-', which "
              "neither begins nor ends it",
              id, kMaxClusterId);
}

Result<engine::Wish> wish_of(const api::Listener& listener, const Naming& naming) {
  const std::string object = "Listener " + listener.meta.key().to_string();
  const Result<model::Transport> protocol = model::parse_transport(listener.spec.protocol);
  if (!protocol) return fail(Error(protocol.error()).about(object).at("spec.protocol"));
  const auto lb = claims::load_balancer_of(listener, naming.defaults);
  if (!lb) {
    return fail(
        error_of(Code::invalid, "'{}' is not a load balancer", listener.spec.load_balancer_id)
            .about(object)
            .at("spec.loadbalancerID"));
  }
  engine::Wish wish{.lb = *lb,
                    .protocol = *protocol,
                    .ports = api::ports_of(listener.spec),
                    .name = naming.listener_name(listener, lb->provider),
                    .known_id = listener.status.listener_id,
                    .version = version_of(listener)};
  if (!listener.meta.deleting) {
    wish.spec = model::ListenerSpec{.protocol = *protocol,
                                    .ports = wish.ports,
                                    .name = wish.name,
                                    .attributes = attributes_of(listener.spec),
                                    .targets = targets_of(listener.spec)};
  }
  return wish;
}

Result<model::PortRange> granted_ports(const api::Listener& listener, const engine::Wish& wish,
                                       const api::LoadBalancer* balancer) {
  const std::string_view protocol = model::to_string(wish.protocol);
  const api::Grant* others = nullptr;
  const std::span<const api::Grant> grants =
      balancer ? std::span(balancer->spec.grants) : std::span<const api::Grant>();
  for (const api::Grant& grant : grants) {
    if (!overlaps(grant, wish.ports) || grant.protocol != protocol) continue;
    const bool inside = grant.start_port <= wish.ports.first && wish.ports.last <= grant.end_port;
    if (inside && is_owned_by(listener, grant))
      return model::PortRange{static_cast<model::Port>(grant.start_port),
                              static_cast<model::Port>(grant.end_port)};
    others = &grant;
  }
  std::string owner = "granted to nobody";
  if (others) {
    owner = fmt::format("granted to {} {}/{}", others->owner_kind, others->owner_namespace,
                        others->owner_name);
    owner += is_owned_by(listener, *others)
                 ? fmt::format(" from {} to {} only", others->start_port, others->end_port)
                 : ", which does not own this Listener";
  }
  return fail(error_of(Code::forbidden, "{} ports {}-{} of {} are {}", protocol, wish.ports.first,
                       wish.ports.last, model::to_string(wish.lb), owner)
                  .about("Listener " + listener.meta.key().to_string())
                  .at("spec.port")
                  .with_hint("a Listener is acted on only for the PortPool that made it and has "
                             "the ports: delete this one, and ask a pool for a port"));
}

Error not_sealed(const api::Listener& listener, claims::Trust trust) {
  return error_of(Code::forbidden, "{}",
                  trust == claims::Trust::forged
                      ? "somebody wrote it, or changed what it is: its seal does not fit"
                      : "it has no seal of ours")
      .about("Listener " + listener.meta.key().to_string())
      .at(fmt::format("metadata.annotations[{}]", claims::kSealAnnotation))
      .with_hint("a Listener of a pool is put right by its pool in a moment; delete any other");
}

std::vector<api::Grant> changed_grants(const api::LoadBalancer* before,
                                       const api::LoadBalancer* after) {
  static const std::vector<api::Grant> none;
  const std::vector<api::Grant>& old = before ? before->spec.grants : none;
  const std::vector<api::Grant>& now = after ? after->spec.grants : none;
  std::vector<api::Grant> out;
  if (old == now) return out;
  add_missing(old, now, out);
  add_missing(now, old, out);
  return out;
}

bool is_about(const std::vector<api::Grant>& grants, const api::Listener& listener) {
  const model::PortRange ports = api::ports_of(listener.spec);
  return std::ranges::any_of(grants,
                             [&](const api::Grant& grant) { return overlaps(grant, ports); });
}

engine::Wish name_only(const api::Listener& listener, const model::LoadBalancerRef& lb,
                       const Naming& naming) {
  return {.lb = lb,
          .name = naming.listener_name(listener, lb.provider),
          .known_id = listener.status.listener_id,
          .version = version_of(listener)};
}

std::string version_of(const api::Listener& listener) {
  return fmt::format("{}/{}{}", listener.meta.uid, claims::spec_hash(listener.spec),
                     listener.meta.deleting ? "/deleting" : "");
}

claims::ListenerPatch outcome_patch(const api::Listener& listener, const engine::Outcome& outcome) {
  Array patch;
  const api::ListenerStatus& status = listener.status;
  const std::string applied =
      "/metadata/annotations/" + wire::escape_pointer_step(claims::kAppliedAnnotation);
  if (outcome.result) {
    if (!claims::is_applied(listener))
      patch.push_back(put(applied, Value(claims::spec_hash(listener.spec))));
    put_text("/status/listenerID", status.listener_id, outcome.listener_id, patch);
    put_text("/status/status", status.status, api::kSynced, patch);
    put_text("/status/msg", status.message, "", patch);
  } else {
    // What it led to is not known any more: who relies on it must hear of it.
    if (outcome.astray && claims::are_targets_applied(listener)) patch.push_back(put(applied, ""));
    put_text("/status/status", status.status, api::kNotSynced, patch);
    put_text("/status/msg", status.message, outcome.result.error().to_string(), patch);
  }
  if (patch.empty()) return {};
  // One that people wrote has no status to add to.
  if (api::encode(status).empty()) patch.insert(patch.begin(), put("/status", Object{}));
  // Only while the spec is still the one that was applied, for whom it was: a status must not speak
  // of another.
  return {.tests = claims::tests_of(listener), .changes = std::move(patch)};
}

}  // namespace berth::controllers::listener
