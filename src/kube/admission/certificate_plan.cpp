#include "kube/admission/certificate_plan.h"

namespace berth::kube {
namespace {

// True while more than a third of the life is left.
bool is_fresh(const crypto::CertificateInfo& info, WallTime now) {
  return info.not_after - now > (info.not_after - info.not_before) / 3;
}

// It can serve until a new authority has been announced.
bool can_wait(const WebhookCertificate& found, const crypto::CertificateInfo& serving,
              const CertificateKeeperOptions& options, WallTime now) {
  const bool named =
      serving.dns_names == options.dns_names && serving.ip_addresses == options.ip_addresses;
  return named && crypto::verify_signed_by(found.serving.certificate_pem, found.ca_bundle,
                                           now + kAnnouncement);
}

}  // namespace

RenewalPlan plan_renewal(const WebhookCertificate* found, const CertificateKeeperOptions& options,
                         WallTime now) {
  constexpr RenewalPlan kEverything{.authority = true, .serving = true};
  if (!found) return kEverything;
  const auto authority = crypto::describe_certificate(found->authority.certificate_pem);
  const auto serving = crypto::describe_certificate(found->serving.certificate_pem);
  if (!authority || !serving) return kEverything;

  const bool urgent = !can_wait(*found, *serving, options, now);
  if (!is_fresh(*authority, now)) return {.authority = true, .serving = urgent};
  const bool announced = now - authority->not_before >= kAnnouncement;
  return {.serving = urgent || (announced && !is_fresh(*serving, now))};
}

}  // namespace berth::kube
