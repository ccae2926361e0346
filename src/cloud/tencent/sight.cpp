#include "cloud/tencent/sight.h"

namespace berth::cloud::tencent {

void Sight::note(const lb::Place& place, const std::string& keys) {
  const MutexLock lock(mu_);
  seen_with_.insert_or_assign(place, keys);
}

bool Sight::is_of_others(const lb::Place& place, const std::string& keys) const {
  const MutexLock lock(mu_);
  const auto it = seen_with_.find(place);
  return it != seen_with_.end() && it->second != keys;
}

Error Sight::hidden(Error error) {
  error.code = Code::forbidden;
  error.hint =
      "it was seen with other keys: these may be another account's. If it was deleted, restart the "
      "controller";
  return error;
}

}  // namespace berth::cloud::tencent
