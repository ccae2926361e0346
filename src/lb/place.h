// Where a call to a provider goes, and in whose name.
#pragma once

#include <compare>

#include "model/load_balancer.h"

namespace berth::lb {

struct Place {
  Place() = default;
  // With the credentials of the process.
  Place(model::LoadBalancerRef ref) : lb(std::move(ref)) {}
  Place(model::LoadBalancerRef ref, model::CredentialId whose)
      : lb(std::move(ref)), credential(std::move(whose)) {}

  model::LoadBalancerRef lb{};
  // A call has one. What was asked for by one namespace is never tried with another's.
  model::CredentialId credential{};

  friend auto operator<=>(const Place&, const Place&) = default;
};

}  // namespace berth::lb
