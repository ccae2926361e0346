// Sightings: since when this process has seen each claim that waits for something: for its Pod, for
// its name to come back, for the end of its quarantine.
//
// How long a claim has waited is judged by this. The time that it says itself was read from the
// clock of the replica that wrote it, which may be another one.
//
// Fed by the changes of the Listener store, also while this replica does not lead. Thread-safe;
// owned by the composition root, which attaches it before the informers start.
#pragma once

#include <map>
#include <string>

#include "base/mutex.h"
#include "base/tasks.h"
#include "claims/slot.h"

namespace berth::claims {

class Sightings {
 public:
  Sightings(Tasks& tasks, ListenerStore& store);

  // For how long the lock has had the claim that it has here. Zero when that was not noted: it
  // waits for nothing, or the change is on its way here.
  Duration age(const api::Listener& lock) const;

 private:
  struct Sighting {
    std::string claim{};  // the annotation's text
    Instant since{};
  };

  void note(const kube::Change<api::Listener>& change);

  Tasks& tasks_;
  mutable Mutex mu_;
  // By lock: as many as there are claims that wait.
  std::map<kube::ObjectKey, Sighting> seen_ GUARDED_BY(mu_);
};

}  // namespace berth::claims
