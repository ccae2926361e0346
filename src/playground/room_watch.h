// What the playground sees happen by itself: how long each room waited for its address, and how
// many ports of each pool are in use.
//
// Owned by the Playground; stops with its destructor. Thread-safe after `start`.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "api/listener.h"
#include "api/port_pool.h"
#include "base/mutex.h"
#include "base/random.h"
#include "kube/cache/informer.h"
#include "kube/cache/pod.h"
#include "playground/overview.h"

namespace berth::playground {

class RoomWatch {
 public:
  // Both outlive it.
  RoomWatch(Tasks& tasks, kube::Client& client, Random random);
  ~RoomWatch();

  // Returns when what is there already is known.
  Result<> start(const Context& context);

  // From the moment when the Pod was created until its ports led to it. Nothing while they do not,
  // and for a Pod that was there before us.
  std::optional<Duration> took(const std::string& pod_uid) const;
  std::vector<PoolRow> pools() const;

 private:
  struct Wait {
    std::optional<Instant> created{};
    std::optional<Instant> ready{};
  };
  void note(const kube::Change<kube::Pod>& change);

  Tasks& tasks_;
  mutable Mutex mu_;
  std::map<std::string, Wait> waits_ GUARDED_BY(mu_);  // by uid
  kube::Informer<kube::Pod> pods_;
  kube::Informer<api::PortPool> pools_;
  kube::Informer<api::Listener> listeners_;
};

}  // namespace berth::playground
