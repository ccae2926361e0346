#include "sim/kube/watch_hub.h"

namespace berth::sim::kube {

bool Watch::covers(const wire::Value& object) const {
  if (!ns.empty() && wire::string_at(object, "/metadata/namespace") != ns) return false;
  return selectors.matches(object);
}

std::optional<Event> Watch::event_of(const Change& change) const {
  if (change.resource != resource || change.version <= after_version) return std::nullopt;
  const bool was = change.before != nullptr && covers(*change.before);
  const bool is = change.after != nullptr && covers(*change.after);
  if (!was && !is) return std::nullopt;
  if (!was) return Event{"ADDED", change.shown};
  if (is) return Event{"MODIFIED", change.shown};
  if (change.after == nullptr) return Event{"DELETED", change.shown};
  // It goes on to exist elsewhere. What is shown is the state that matched, under the new version.
  wire::Value last = *change.before;
  (void)wire::set_at(last, "/metadata/resourceVersion",
                     wire::Value(std::to_string(change.version).c_str()));
  return Event{"DELETED", std::make_shared<const wire::Value>(std::move(last))};
}

bool Delivery::run(WallTime now, ObjectTexts& texts) const {
  std::string bytes;
  for (const Event& event : events) {
    append_event(bytes, event.type, event.object, watch->shape, now, texts);
  }
  if (bookmark) {
    append_bookmark(bytes, bookmark->version, bookmark->initial_events_end, watch->shape);
  }
  const bool taken =
      bytes.empty() ? !watch->pipe->abandoned() : watch->pipe->write(std::move(bytes));
  if (close || !taken) watch->pipe->close();
  return taken;
}

void WatchHub::add(Watch watch, std::vector<Event> initial, std::optional<Bookmark> bookmark) {
  auto shared = std::make_shared<const Watch>(std::move(watch));
  watches_.push_back({shared, shared->started_at + kBookmarkInterval});
  outbox_.push_back({std::move(shared), std::move(initial), bookmark});
}

void WatchHub::publish(const Change& change) {
  for (const Entry& entry : watches_) {
    if (std::optional<Event> event = entry.watch->event_of(change)) {
      outbox_.push_back({.watch = entry.watch, .events = {std::move(*event)}});
    }
  }
}

void WatchHub::tick(WallTime now, std::uint64_t version) {
  for (auto entry = watches_.begin(); entry != watches_.end();) {
    const auto current = entry++;
    const Watch& watch = *current->watch;
    const bool over = now >= watch.ends_at;
    const bool closing = over && watch.ends_at - watch.started_at >= kShortWatch;
    const bool due = watch.bookmarks && (closing || now >= current->next_bookmark);
    if (!over && !due && !watch.pipe->abandoned()) continue;
    Delivery delivery{.watch = current->watch, .close = over};
    if (due && version >= watch.after_version) delivery.bookmark = Bookmark{version};
    current->next_bookmark = now + kBookmarkInterval;
    outbox_.push_back(std::move(delivery));
    if (over) watches_.erase(current);
  }
}

void WatchHub::close_all() {
  for (Entry& entry : watches_) outbox_.push_back({.watch = std::move(entry.watch), .close = true});
  watches_.clear();
}

void WatchHub::close(const GroupResource& resource) {
  watches_.remove_if([&](const Entry& entry) {
    if (entry.watch->resource != resource) return false;
    outbox_.push_back({.watch = entry.watch, .close = true});
    return true;
  });
}

void WatchHub::forget(const std::shared_ptr<const Watch>& watch) {
  watches_.remove_if([&watch](const Entry& entry) { return entry.watch == watch; });
}

}  // namespace berth::sim::kube
