#include "kube/cache/store_target.h"

#include "base/log.h"

namespace berth::kube {

UndecodableReport::UndecodableReport(metrics::Registry* registry, const ResourceType& type)
    : resource_(type.plural),
      counter_(registry == nullptr
                   ? nullptr
                   : &registry->counter("reflector_undecodable_objects_total",
                                        "Objects from the API server that could not be decoded.",
                                        {{"resource", type.plural}})) {}

void UndecodableReport::add(const ObjectKey& key, const Error& error) {
  if (counter_ != nullptr) counter_->increment();
  log_error("cannot decode an object, its last good version stays: " + error.to_string(),
            {{"resource", resource_},
             {"object", key.name.empty() ? "unknown" : key.to_string()},
             {"code", std::string(traits_of(error.code).name)}});
  there_.insert(key);
  listed_.insert(key);
  count_ = there_.size();
}

void UndecodableReport::remove(const ObjectKey& key) {
  if (there_.erase(key) > 0) count_ = there_.size();
}

void UndecodableReport::end_list() {
  there_ = std::move(listed_);
  listed_.clear();
  count_ = there_.size();
}

}  // namespace berth::kube
