#include "kube/runtime/event_recorder.h"

#include <boost/json.hpp>

#include "base/log.h"

namespace berth::kube {
namespace {

using wire::Object;
using wire::Value;

// kube-apiserver refuses longer ones.
constexpr std::size_t kMaxMessage = 1024;

// Events on cluster-scoped objects lie in the default namespace.
std::string namespace_of(const EventTarget& target) {
  return target.ns.empty() ? "default" : target.ns;
}

}  // namespace

EventRecorder::EventRecorder(Tasks& tasks, Client& client, std::string component,
                             metrics::Registry& registry)
    : tasks_(tasks),
      client_(client),
      component_(std::move(component)),
      dropped_(registry.counter("berth_events_dropped_total", "Events that were not written.")),
      queued_(tasks.signal()) {}

void EventRecorder::record(EventNote note) {
  {
    const MutexLock lock(mu_);
    if (queue_.size() >= kMaxQueued) {
      dropped_.increment();
      return;
    }
    queue_.push_back(std::move(note));
  }
  queued_->notify();
}

void EventRecorder::write_all(const Context& context) {
  while (std::optional<EventNote> note = next(context.stop)) {
    const auto decided = correlator_.observe(std::move(*note), tasks_.wall_time(), tasks_.now());
    if (!decided) {
      dropped_.increment();
      continue;
    }
    write(context, *decided);
  }
}

std::optional<EventNote> EventRecorder::next(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    {
      const MutexLock lock(mu_);
      if (!queue_.empty()) {
        EventNote note = std::move(queue_.front());
        queue_.pop_front();
        return note;
      }
    }
    (void)tasks_.wait(*queued_, kNever, stop);
    (void)sleep_for(tasks_, kGather, stop);
  }
  return std::nullopt;
}

void EventRecorder::write(const Context& context, const EventCorrelator::Write& write) {
  for (int attempt = 0; attempt < kMaxTries; ++attempt) {
    const Result<> written = try_write(context, write);
    if (written || written.error().code == Code::stopped) return;
    // What the server refuses once, it refuses again.
    const bool worth_trying =
        is_retryable(written.error()) && written.error().code != Code::forbidden;
    if (!worth_trying) {
      log_debug("event dropped",
                {{"object", write.event.note.target.name}, {"error", written.error().to_string()}});
      break;
    }
    if (!sleep_for(tasks_, kRetryPause, context.stop)) return;
  }
  dropped_.increment();
}

Result<> EventRecorder::try_write(const Context& context, EventCorrelator::Write write) {
  const ObjectKey key{namespace_of(write.event.note.target), write.event.name};
  if (!write.create) {
    const Object patch{{"count", write.event.count},
                       {"lastTimestamp", format_rfc3339(write.event.last)}};
    const Result<Value> patched =
        client_.patch(context, types::kEvent, key, PatchType::merge, patch);
    if (patched) return {};
    if (patched.error().code != Code::not_found) return fail(patched.error());
    correlator_.forget(write.event);
  }
  const Result<Value> created = client_.create(context, types::kEvent, render(write.event));
  // Ours: an earlier try whose answer was lost.
  if (created || created.error().code == Code::already_exists) return {};
  return fail(created.error());
}

Value EventRecorder::render(const RecordedEvent& event) const {
  const EventTarget& target = event.note.target;
  return Object{{"apiVersion", "v1"},
                {"kind", "Event"},
                {"metadata", Object{{"namespace", namespace_of(target)}, {"name", event.name}}},
                {"involvedObject", Object{{"apiVersion", target.api_version},
                                          {"kind", target.kind},
                                          {"namespace", target.ns},
                                          {"name", target.name},
                                          {"uid", target.uid}}},
                {"type", event.note.type},
                {"reason", event.note.reason},
                {"message", event.note.message.substr(0, kMaxMessage)},
                {"source", Object{{"component", component_}}},
                {"reportingComponent", component_},
                {"reportingInstance", component_},
                {"count", event.count},
                {"firstTimestamp", format_rfc3339(event.first)},
                {"lastTimestamp", format_rfc3339(event.last)}};
}

}  // namespace berth::kube
