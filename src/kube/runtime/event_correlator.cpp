#include "kube/runtime/event_correlator.h"

#include <algorithm>

namespace berth::kube {
namespace {

constexpr std::string_view kCombinedPrefix = "(combined from similar events): ";

std::string join(std::initializer_list<std::string_view> parts) {
  std::string out;
  for (const std::string_view part : parts) {
    out += part;
    out += '\x1f';  // in no name
  }
  return out;
}

std::string target_key(const EventTarget& t) {
  return join({t.api_version, t.kind, t.ns, t.name, t.uid});
}
std::string similar_key(const EventNote& n) {
  return target_key(n.target) + join({n.type, n.reason});
}
std::string exact_key(const EventNote& n) { return similar_key(n) + n.message; }

}  // namespace

template <class T>
T& EventCorrelator::Remembered<T>::at(const std::string& key) {
  const auto found = where_.find(key);
  if (found != where_.end()) {
    entries_.splice(entries_.begin(), entries_, found->second);
    return entries_.front().second;
  }
  if (entries_.size() >= kRemembered) {
    where_.erase(entries_.back().first);
    entries_.pop_back();
  }
  entries_.emplace_front(key, T{});
  where_[key] = entries_.begin();
  return entries_.front().second;
}

template <class T>
void EventCorrelator::Remembered<T>::erase(const std::string& key) {
  const auto found = where_.find(key);
  if (found == where_.end()) return;
  entries_.erase(found->second);
  where_.erase(found);
}

std::optional<EventCorrelator::Write> EventCorrelator::observe(EventNote note, WallTime wall,
                                                               Instant now) {
  const EventNote shown = combine(std::move(note), now);
  if (!within_budget(shown, now)) return std::nullopt;
  std::optional<RecordedEvent>& known = recorded_.at(exact_key(shown));
  if (known) {
    ++known->count;
    known->last = wall;
    return Write{.create = false, .event = *known};
  }
  known = RecordedEvent{
      .name = name_for(shown.target, wall), .note = shown, .first = wall, .last = wall};
  return Write{.create = true, .event = *known};
}

// Made from the time, as client-go's are. A Pod and its PortBinding have one name, and a clock may
// stand still between two events: no two of ours have the same all the same.
std::string EventCorrelator::name_for(const EventTarget& target, WallTime wall) {
  last_named_ = std::max(wall, last_named_ + Duration{1});
  return fmt::format("{}.{:x}", target.name,
                     static_cast<std::uint64_t>(last_named_.time_since_epoch().count()));
}

// Past the limit, events that differ in their message alone become one with a common text.
EventNote EventCorrelator::combine(EventNote note, Instant now) {
  Similar& similar = similar_.at(similar_key(note));
  if (now - similar.last > kCombiningSpan) similar.messages.clear();
  similar.last = now;
  if (similar.messages.size() <= kSimilarBeforeCombining)
    similar.messages.try_emplace(note.message, true);
  const bool known = similar.messages.contains(note.message);
  if (similar.messages.size() > kSimilarBeforeCombining || !known) {
    note.message = std::string(kCombinedPrefix) + note.reason;
  }
  return note;
}

bool EventCorrelator::within_budget(const EventNote& note, Instant now) {
  Bucket& bucket = budgets_.at(target_key(note.target));
  if (!bucket.begun) bucket = {.begun = true, .tokens = kBurst, .filled = now};
  bucket.tokens =
      std::min(kBurst, bucket.tokens + to_seconds(now - bucket.filled) / to_seconds(kRefill));
  bucket.filled = now;
  if (bucket.tokens < 1) return false;
  bucket.tokens -= 1;
  return true;
}

void EventCorrelator::forget(const RecordedEvent& event) { recorded_.erase(exact_key(event.note)); }

}  // namespace berth::kube
