// Lets Ingresses in and change, or says why not: what the schema cannot say, and ports that another
// owner has.
#pragma once

#include <functional>

#include "admission/neighbours.h"
#include "api/ingress.h"
#include "claims/resolver.h"
#include "kube/admission/review.h"

namespace berth::admission {

class IngressGate {
 public:
  // Whether somebody carries traffic for it.
  using IsServed = std::function<bool(const model::LoadBalancerRef& lb)>;

  IngressGate(Neighbours neighbours, const claims::Resolver& resolver, IsServed is_served)
      : neighbours_(std::move(neighbours)), resolver_(resolver), is_served_(std::move(is_served)) {}

  // On every replica; any thread.
  Result<kube::AdmissionAnswer> admit(const kube::AdmissionRequest& request) const;

 private:
  Result<> check_ports(const api::Ingress& ingress,
                       const std::vector<model::LoadBalancerRef>& lbs) const;
  std::vector<std::string> warnings_about(const api::Ingress& ingress,
                                          const std::vector<model::LoadBalancerRef>& lbs) const;

  const Neighbours neighbours_;
  const claims::Resolver& resolver_;
  const IsServed is_served_;
};

}  // namespace berth::admission
