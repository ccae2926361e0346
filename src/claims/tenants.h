// What each namespace has of each pool, from the Listener store. Thread-safe; attached before the
// informers start.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "claims/slot.h"

namespace berth::claims {

class Tenants {
 public:
  explicit Tenants(ListenerStore& store);

  // Ports that the namespace's Pods have or keep, but for those of answers that `is_counted` knows
  // by their token. Those for TCP and for UDP count by themselves, a segment counts as one.
  std::size_t held(const kube::ObjectKey& pool, const std::string& ns,
                   const std::function<bool(const std::string& token)>& is_counted) const;
  // Ports that were given in an answer whose Pod nobody has seen, by what `has_pod` says of tokens.
  // Not looked at closely while there are fewer than `enough`.
  std::size_t unseen(const kube::ObjectKey& pool, const std::string& ns, std::size_t enough,
                     const std::function<bool(const std::string& token)>& has_pod) const;

 private:
  const ListenerStore& store_;
};

}  // namespace berth::claims
