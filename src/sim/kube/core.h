// The state that all handlers share, under one lock that is held for short pieces only. Private to
// this folder.
#pragma once

#include "base/mutex.h"
#include "base/random.h"
#include "sim/kube/kinds.h"
#include "sim/kube/storage.h"
#include "sim/kube/watch_hub.h"

namespace berth::sim::kube {

class Core {
 public:
  Core(std::uint64_t seed, std::size_t history_changes, bool keeps_owners)
      : storage(history_changes), random(seed), tracks_fields(keeps_owners) {}

  mutable Mutex mu;
  Kinds kinds GUARDED_BY(mu);
  Storage storage GUARDED_BY(mu);
  WatchHub hub GUARDED_BY(mu);
  Random random GUARDED_BY(mu);
  ObjectTexts texts;
  const bool tracks_fields;  // ServerOptions

  // Writes that the watches shall see.
  ObjectPtr put(const GroupResource& resource, const std::string& key, wire::Value object)
      REQUIRES(mu);
  ObjectPtr remove(const GroupResource& resource, const std::string& key) REQUIRES(mu);

  // Hands queued events to the watches. Call it after every change, without the lock. When another
  // thread is at it, that one delivers ours too, so that the order holds. `now` is for the ages in
  // tables.
  void deliver(WallTime now);

 private:
  bool delivering_ GUARDED_BY(mu) = false;
};

}  // namespace berth::sim::kube
