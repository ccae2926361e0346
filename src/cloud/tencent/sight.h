// Sight: with which keys a load balancer was last seen. The cloud says of what is another account's
// that it does not exist, and whoever believes that lets go of what he has there: so it is not
// believed where the keys have changed since it was seen. Thread-safe; owned by the driver.
#pragma once

#include <map>
#include <string>

#include "base/mutex.h"
#include "cloud/tencent/api.h"
#include "lb/place.h"

namespace berth::cloud::tencent {

class Sight {
 public:
  explicit Sight(const Api& api) : api_(api) {}

  // What the look says, which is made with the keys of the place.
  template <class Look>
  auto of(const lb::Place& place, const Look& look) -> decltype(look()) {
    const std::string before = api_.signed_as(place.credential);
    auto seen = look();
    const std::string after = api_.signed_as(place.credential);
    if (seen) {
      if (before.empty() || before == after) note(place, after);
    } else if (seen.error().code == Code::not_found && is_of_others(place, after)) {
      return fail(hidden(std::move(seen.error())));
    }
    return seen;
  }

 private:
  void note(const lb::Place& place, const std::string& keys);
  bool is_of_others(const lb::Place& place, const std::string& keys) const;
  static Error hidden(Error error);

  const Api& api_;
  mutable Mutex mu_;
  std::map<lb::Place, std::string> seen_with_ GUARDED_BY(mu_);
};

}  // namespace berth::cloud::tencent
