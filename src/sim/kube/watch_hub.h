// The open watches: what each wants to see, and what is on its way to it.
//
// `WatchHub` is guarded by the server's lock and only queues; `deliver` writes the queued events
// into the pipes without any lock, in the order of the changes, whichever thread runs it.
#pragma once

#include <list>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "net/byte_pipe.h"
#include "sim/kube/representation.h"
#include "sim/kube/selectors.h"
#include "sim/kube/storage.h"

namespace berth::sim::kube {

// kube-apiserver sends a bookmark about this often.
inline constexpr Duration kBookmarkInterval = std::chrono::minutes{1};
// A shorter watch ends without one.
inline constexpr Duration kShortWatch = std::chrono::seconds{2};

struct Event {
  std::string_view type;  // ADDED, MODIFIED, DELETED
  ObjectPtr object;
};
struct Bookmark {
  std::uint64_t version = 0;
  bool initial_events_end = false;
};

struct Watch {
  GroupResource resource{};
  std::string ns{};  // empty: all namespaces
  Selectors selectors{};
  Representation shape{};
  bool bookmarks = false;
  // Only later changes are shown.
  std::uint64_t after_version = 0;
  WallTime started_at{};
  WallTime ends_at{};
  std::shared_ptr<net::BytePipe> pipe{};

  // What this watch shows of a change: an object that starts or stops matching comes and goes.
  std::optional<Event> event_of(const Change& change) const;
  bool covers(const wire::Value& object) const;
};

// What goes into one pipe next.
struct Delivery {
  std::shared_ptr<const Watch> watch{};
  std::vector<Event> events{};
  std::optional<Bookmark> bookmark{};
  bool close = false;

  // False when the reader is gone or too slow.
  bool run(WallTime now, ObjectTexts& texts) const;
};

class WatchHub {
 public:
  // The events that a watch starts with go out before any later change.
  void add(Watch watch, std::vector<Event> initial, std::optional<Bookmark> bookmark);
  void publish(const Change& change);
  void tick(WallTime now, std::uint64_t version);
  void close_all();
  // Of a kind that is not served any more.
  void close(const GroupResource& resource);
  // Readers that went away, or cannot keep up.
  void forget(const std::shared_ptr<const Watch>& watch);
  std::size_t size() const { return watches_.size(); }

  std::vector<Delivery> take_deliveries() { return std::exchange(outbox_, {}); }

 private:
  struct Entry {
    std::shared_ptr<const Watch> watch;
    WallTime next_bookmark;
  };
  std::list<Entry> watches_;
  std::vector<Delivery> outbox_;
};

}  // namespace berth::sim::kube
