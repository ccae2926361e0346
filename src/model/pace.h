// How fast a provider takes calls, and how its calls are made of batches: for whoever says in
// advance what a change costs. Plain values, from the providers' documentation.
#pragma once

#include "model/provider.h"

namespace berth::model {

struct Pace {
  // Of each operation of its API, for one account and region; 0: no bound that is known.
  double calls_per_second = 0;
  // One write, until the provider says that it is done; 0: not known, or nothing.
  double write_seconds = 0;
  // A call makes listeners of one protocol and with the same attributes; one of a range is alone.
  bool makes_alike = false;
  // Each change of attributes, of a listener or of a rule, is a call.
  bool changes_alone = false;
  // A call is about rules of one listener.
  bool rules_by_listener = false;
  // Whether a write is done is asked for by another call.
  bool has_tasks = false;
};

constexpr Pace pace_of(Provider provider) {
  switch (provider) {
    // A round trip, and a task that takes half a second where nothing else is under way.
    case Provider::tencent:
      return {.calls_per_second = 20,
              .write_seconds = 0.55,
              .makes_alike = true,
              .changes_alone = true,
              .rules_by_listener = true,
              .has_tasks = true};
    case Provider::edge:
    case Provider::aws:
    case Provider::gcp: break;
  }
  return {};
}

}  // namespace berth::model
