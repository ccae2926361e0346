// Keeps the certificate of our webhooks, and the authority that signed it, in a Secret that all
// replicas share.
//
// The first replica to come makes them; the others read them. Both are renewed when a third of
// their life is left, in an order in which no request fails (`certificate_plan.h`). A Secret that
// was deleted comes back as it was. Any task may read the current ones; `ensure` is called by one
// task at a time.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/context.h"
#include "base/mutex.h"
#include "crypto/certificates.h"
#include "kube/client/client.h"

namespace berth::kube {

struct CertificateKeeperOptions {
  ObjectKey secret{"default", "berth-webhook-certificate"};
  std::vector<std::string> dns_names{};  // of the webhook's Service
  std::vector<std::string> ip_addresses{};
  Duration authority_lifetime = std::chrono::hours{24 * 3650};
  Duration certificate_lifetime = std::chrono::hours{24 * 365};
};

// Immutable; replaced as a whole.
struct WebhookCertificate {
  crypto::KeyPair serving{};
  crypto::KeyPair authority{};
  std::string ca_bundle{};  // the authority, and its predecessor while that may still be in use
};

struct RenewalPlan;

class CertificateKeeper {
 public:
  CertificateKeeper(Client& client, CertificateKeeperOptions options);

  // Reads the Secret, makes or renews what is missing or near its end, and tells the callback when
  // something changed.
  Result<> ensure(const Context& context);
  // Ensures every `period` until the stop; errors are logged and tried again.
  void keep(const Context& context, Duration period);
  void on_change(std::function<void(const WebhookCertificate&)> callback) {
    on_change_ = std::move(callback);
  }

  // Null before the first `ensure`.
  std::shared_ptr<const WebhookCertificate> current() const;
  // A moment before we made the Secret, if there was none when we started; else the beginning of
  // time.
  Instant made_at() const { return made_at_; }

 private:
  // What is to be used now: as found, or with what was due made anew.
  Result<WebhookCertificate> renewed(const WebhookCertificate* found, RenewalPlan plan,
                                     WallTime now) const;
  std::optional<WebhookCertificate> usable_part(const Result<wire::Value>& secret) const;
  Result<> store(const Context& context, const WebhookCertificate& made,
                 const wire::Value* existing);
  void publish(WebhookCertificate certificate);

  Client& client_;
  const CertificateKeeperOptions options_;
  std::function<void(const WebhookCertificate&)> on_change_;
  std::atomic<Instant> made_at_{Instant::min()};
  mutable Mutex mu_;
  std::shared_ptr<const WebhookCertificate> current_ GUARDED_BY(mu_);
};

}  // namespace berth::kube
