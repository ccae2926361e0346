// How far a store has seen, without its type: what work queues park keys on. Thread-safe.
#pragma once

#include <functional>

#include "kube/client/resource.h"

namespace berth::kube {

class StoreProgress {
 public:
  virtual ~StoreProgress() = default;
  // The first list is in the store and was delivered to the handlers.
  virtual bool synced() const = 0;
  // Every change up to this version has been applied.
  virtual ResourceVersion seen() const = 0;
  // Called on the writing task, without a lock held, whenever `seen` or `synced` advanced. Before
  // the start only.
  virtual void on_progress(std::function<void()> callback) = 0;
};

}  // namespace berth::kube
