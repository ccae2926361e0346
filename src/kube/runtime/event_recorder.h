// Writes events on objects, without ever blocking or failing who reports them.
//
// `record` only queues; one task writes. A full queue drops and counts: events are for people, and
// a controller must not wait for them. Any task may record; owned by the composition root, which
// runs `write_all` in a task.
#pragma once

#include <deque>
#include <memory>
#include <string>

#include "base/context.h"
#include "base/mutex.h"
#include "kube/client/client.h"
#include "kube/runtime/event_correlator.h"
#include "metrics/registry.h"

namespace berth::kube {

class EventRecorder {
 public:
  // A few megabytes. A storm of Pods brings some events for each of them, faster than one task
  // writes.
  static constexpr std::size_t kMaxQueued = 8192;
  // What is reported goes before the report: a lone Pod is Ready well within this, and the writes
  // that make it so do not share the API server with their own events.
  static constexpr Duration kGather = std::chrono::milliseconds{50};
  // As client-go has it.
  static constexpr int kMaxTries = 12;
  static constexpr Duration kRetryPause = std::chrono::seconds{10};

  EventRecorder(Tasks& tasks, Client& client, std::string component, metrics::Registry& registry);

  void record(EventNote note);
  // Until the stop. What is queued then is dropped.
  void write_all(const Context& context);

 private:
  std::optional<EventNote> next(const std::stop_token& stop);
  void write(const Context& context, const EventCorrelator::Write& write);
  Result<> try_write(const Context& context, EventCorrelator::Write write);
  wire::Value render(const RecordedEvent& event) const;

  Tasks& tasks_;
  Client& client_;
  const std::string component_;
  metrics::Counter& dropped_;
  EventCorrelator correlator_;  // of the writing task
  std::unique_ptr<Signal> queued_;
  Mutex mu_;
  std::deque<EventNote> queue_ GUARDED_BY(mu_);
};

}  // namespace berth::kube
