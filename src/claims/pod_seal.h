// The seal of a Pod's ports: proof that we gave them to it. A claim that lives is proof enough; the
// seal is for the day on which somebody has taken the claim off.
//
// It is a MAC over the token, which says when it was made, the Pod's namespace, what was asked for
// and the slots that were given, and lies in an annotation of the Pod beside what it was told. What
// changes while the Pod lives (addresses of load balancers) is not sealed.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/port_binding.h"
#include "crypto/key_ring.h"
#include "ledger/claim.h"

namespace berth::claims {

inline constexpr std::string_view kPortsSealAnnotation = "berth.dev/ports-seal";

// What was given to whom.
struct GivenPorts {
  std::string_view token{};
  std::string_view ns{};
  const std::vector<api::PortBindingItem>& told;
};

// The annotation's text: the hash of the request, and the seal.
std::string seal_ports(const crypto::KeyRing& ring, const GivenPorts& given,
                       std::string_view request);

struct PortsProof {
  crypto::SealVerdict verdict = crypto::SealVerdict::absent;
  std::string request{};    // of a good one
  bool is_current = false;  // of a good one: by the key that seals now
};
PortsProof judge_ports(const crypto::KeyRing& ring, const GivenPorts& given,
                       std::string_view annotation);

}  // namespace berth::claims
