// Many that meet an empty pool at one moment share one list of it: one that began after they asked.
//
// Remembers pools by names that users choose, so it remembers a bounded number. Thread-safe.
#pragma once

#include <cstddef>
#include <map>

#include "base/mutex.h"
#include "base/time.h"
#include "kube/client/resource.h"

namespace berth::claims {

// Forgetting one costs a list. Those under way are not forgotten; they are as many as admissions.
inline constexpr std::size_t kMaxRememberedLists = 256;

class ListTurns {
 public:
  enum class Turn {
    fresh,  // a list that began later has succeeded
    mine,   // nobody lists it: the caller does, and says when it is done
    wait    // somebody does
  };
  Turn ask(const kube::ObjectKey& pool, Instant asked);
  void done(const kube::ObjectKey& pool, Instant began, bool succeeded);

  std::size_t size() const;

 private:
  struct List {
    Instant began{};  // of the last one that succeeded
    bool running = false;
  };
  mutable Mutex mu_;
  std::map<kube::ObjectKey, List> lists_ GUARDED_BY(mu_);
};

}  // namespace berth::claims
