// Keeps the keys with which replicas prove to each other, and to themselves after a restart, what
// they wrote: in a Secret that all of them share.
//
// There are two rings: `seals` for what we write on objects, and `paths` for the addresses of our
// webhooks. The first replica to come makes them; the others read them. `key_plan.h` says when keys
// come and go. A Secret that was deleted or damaged comes back as it was known. Any task may read
// the current rings and demand a new path; `ensure` is called by one task at a time.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "base/context.h"
#include "base/mutex.h"
#include "crypto/digest.h"
#include "crypto/key_ring.h"
#include "kube/admission/key_plan.h"
#include "kube/client/client.h"

namespace berth::kube {

struct KeyKeeperOptions {
  ObjectKey secret{"default", "berth-keys"};
  RingRules seals = kSealRules;
  RingRules paths = kPathRules;
  std::function<std::string(std::size_t)> random_bytes = crypto::random_bytes;
};

// Immutable; replaced as a whole.
struct KeyRings {
  crypto::KeyRing seals{};
  crypto::KeyRing paths{};
};

class KeyKeeper {
 public:
  KeyKeeper(Client& client, KeyKeeperOptions options);

  // Reads the Secret, makes what is missing or due, and tells the callback when something changed.
  Result<> ensure(const Context& context);
  // Ensures every `period` until the stop; errors are logged and tried again.
  void keep(const Context& context, Duration period);
  void on_change(std::function<void(const KeyRings&)> callback) {
    on_change_ = std::move(callback);
  }
  // The next `ensure` makes a new path, unless one was made just now: the old one may be known to
  // somebody.
  void demand_new_path() { new_path_ = true; }

  // Null before the first `ensure`.
  std::shared_ptr<const KeyRings> current() const;

 private:
  using Keys = std::vector<crypto::Key>;
  struct Found {
    Keys seals{};
    Keys paths{};
  };

  Found usable_part(const Result<wire::Value>& secret) const;
  Keys usable_ring(const wire::Value& secret, std::string_view name, const Keys& known) const;
  void rotate(Keys& keys, const RingRules& rules, WallTime now, bool demanded) const;
  crypto::Key make_key(const Keys& others, WallTime now) const;
  Result<> store(const Context& context, const Found& keys, const wire::Value* existing);
  void publish(Found keys, WallTime now);

  Client& client_;
  const KeyKeeperOptions options_;
  std::function<void(const KeyRings&)> on_change_;
  std::atomic<bool> new_path_ = false;
  mutable Mutex mu_;
  std::shared_ptr<const KeyRings> current_ GUARDED_BY(mu_);
};

}  // namespace berth::kube
