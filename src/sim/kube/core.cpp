#include "sim/kube/core.h"

namespace berth::sim::kube {

ObjectPtr Core::put(const GroupResource& resource, const std::string& key, wire::Value object) {
  const Change& change = storage.put(resource, key, std::move(object));
  hub.publish(change);
  return change.after;
}

ObjectPtr Core::remove(const GroupResource& resource, const std::string& key) {
  const Change& change = storage.remove(resource, key);
  hub.publish(change);
  return change.shown;
}

void Core::deliver(WallTime now) {
  std::vector<std::shared_ptr<const Watch>> ended;
  for (;;) {
    std::vector<Delivery> deliveries;
    {
      MutexLock lock(mu);
      for (const auto& watch : std::exchange(ended, {})) hub.forget(watch);
      if (delivering_) return;
      deliveries = hub.take_deliveries();
      if (deliveries.empty()) return;
      delivering_ = true;
    }
    for (const Delivery& delivery : deliveries) {
      if (!delivery.run(now, texts)) ended.push_back(delivery.watch);
    }
    MutexLock lock(mu);
    delivering_ = false;
  }
}

}  // namespace berth::sim::kube
