// The secret part of our webhooks' paths: API servers know it from the webhook configurations, and
// hardly anybody else does. Thread-safe.
//
// It is no more than a fence: API servers print addresses of webhooks in their errors. What is
// behind it must be safe without it.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "crypto/key_ring.h"

namespace berth::kube {

class PathGuard {
 public:
  // Paths of all its keys are accepted from now on; the sealing one's is for configurations.
  void use(const crypto::KeyRing& paths);
  // Also without a secret: API servers have been told no other path yet.
  void allow_plain(bool allowed);

  bool knows(std::string_view segment) const;
  bool allows_plain() const;
  // For configurations; empty before there are keys.
  std::string segment() const;

 private:
  mutable Mutex mu_;
  std::shared_ptr<const std::vector<std::string>> words_ GUARDED_BY(mu_);
  bool plain_ GUARDED_BY(mu_) = false;
};

}  // namespace berth::kube
