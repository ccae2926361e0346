// Decides when the webhook's certificate and its authority are renewed. Pure.
//
// A new authority is announced before it is used: it first joins the bundle that API servers trust,
// while the old certificate still serves, and signs a certificate of its own only after every
// webhook configuration has had time to learn of it. So a request never meets a certificate that
// its API server does not trust yet.
#pragma once

#include "kube/admission/certificate_keeper.h"

namespace berth::kube {

// From the day an authority is made until it signs: many times the keeper's period, and the time
// that a leader may be away.
inline constexpr Duration kAnnouncement = std::chrono::hours{24};

struct RenewalPlan {
  bool authority = false;
  bool serving = false;
};

// `found` is null when there is nothing to build on.
RenewalPlan plan_renewal(const WebhookCertificate* found, const CertificateKeeperOptions& options,
                         WallTime now);

}  // namespace berth::kube
