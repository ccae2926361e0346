// What an Ingress needs on its load balancers, and what its status says: pure decisions over the
// caches.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/load_balancer.h"
#include "controllers/ingress/backends.h"
#include "frontend/survey.h"
#include "frontend/wants.h"

namespace berth::controllers::ingress {

inline constexpr std::string_view kIngressOwner = "Ingress";

frontend::Owner owner_of(const api::Ingress& ingress);

// One of its load balancers: as the user wrote it, and what that means.
struct Balancer {
  std::string text{};
  model::LoadBalancerRef lb{};
};

// Its rules and mappings as parts, which have the same ports on each of its load balancers. A part
// is named by transport and first port, so that it stays what it is when rules are put in another
// order, or a mapping gets more Pods.
struct IngressWants {
  std::vector<frontend::WantedPart> parts{};
  Notes notes{};
};
// Precondition: the object is valid (api::validate).
IngressWants wants_of(const api::Ingress& ingress, const std::vector<Balancer>& balancers,
                      const Sight& sight, api::ListenerNames names, WallTime now);
std::vector<frontend::WantedGrant> wanted_grants(const api::Ingress& ingress,
                                                 const std::vector<Balancer>& balancers,
                                                 WallTime now);

// What a Listener of this part and these ports shall be, but for its load balancer. Nothing: none
// is wanted. Cost: one rule, or one Pod.
std::optional<api::ListenerSpec> wanted_spec(const api::Ingress& ingress, std::string_view part,
                                             const model::PortRange& ports, const Sight& sight);

// Whether each address that the Listener leads to is one that its Ingress leads to.
// Precondition: the Ingress, which may be null, is valid.
Result<> check_targets(const api::Listener& listener, const api::Ingress* ingress,
                       const Sight& sight);

using BalancerOf =
    std::function<std::shared_ptr<const api::LoadBalancer>(const model::LoadBalancerRef& lb)>;

// `trouble` is what kept the object from being looked at; empty: nothing did.
struct StatusInput {
  const std::vector<Balancer>& balancers;
  const frontend::Survey& survey;
  const std::vector<Gap>& gaps;
  const BalancerOf& balancer_of;
};
api::IngressStatus status_of(const StatusInput& input);
// Of one that cannot be acted on: what it had stays.
api::IngressStatus troubled_status(const api::IngressStatus& before, std::string trouble);

}  // namespace berth::controllers::ingress
