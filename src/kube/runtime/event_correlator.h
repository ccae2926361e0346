// Decides what becomes of an event before it is written: repeated ones are counted, similar ones
// combined, floods dropped.
//
// The rules and numbers are those of client-go's recorder, so that `kubectl describe` looks as
// users know it. Pure: the time is passed in. Owned by the recorder's task.
#pragma once

#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/time.h"
#include "kube/client/resource.h"

namespace berth::kube {

// What an event is about.
struct EventTarget {
  std::string api_version;
  std::string kind;
  std::string ns;
  std::string name;
  std::string uid;
};

struct EventNote {
  EventTarget target;
  std::string type;    // Normal or Warning
  std::string reason;  // a word of the closed list
  std::string message;
};

// An event as it stands on the server.
struct RecordedEvent {
  std::string name;
  EventNote note;
  std::int64_t count = 1;
  WallTime first{};
  WallTime last{};
};

class EventCorrelator {
 public:
  // More similar events than this within the span are combined into one.
  static constexpr std::size_t kSimilarBeforeCombining = 10;
  static constexpr Duration kCombiningSpan = std::chrono::seconds{600};
  // Per object: this many at once, then one each period.
  static constexpr double kBurst = 25;
  static constexpr Duration kRefill = std::chrono::seconds{300};
  // What is remembered of each kind; the least recently used goes first.
  static constexpr std::size_t kRemembered = 4096;

  struct Write {
    bool create = false;  // else: raise the count of the one on the server
    RecordedEvent event;
  };
  // Nothing: the object has had too many, the event is dropped.
  std::optional<Write> observe(EventNote note, WallTime wall, Instant now);
  // The server has lost it (events live for an hour): the next one is created anew.
  void forget(const RecordedEvent& event);

 private:
  template <class T>
  class Remembered {
   public:
    T& at(const std::string& key);
    void erase(const std::string& key);

   private:
    std::list<std::pair<std::string, T>> entries_;  // most recently used first
    std::unordered_map<std::string, typename std::list<std::pair<std::string, T>>::iterator> where_;
  };
  struct Similar {
    std::unordered_map<std::string, bool> messages;
    Instant last{};
  };
  struct Bucket {
    bool begun = false;
    double tokens = 0;
    Instant filled{};
  };

  EventNote combine(EventNote note, Instant now);
  bool within_budget(const EventNote& note, Instant now);
  std::string name_for(const EventTarget& target, WallTime wall);

  Remembered<Similar> similar_;
  Remembered<Bucket> budgets_;
  Remembered<std::optional<RecordedEvent>> recorded_;
  WallTime last_named_{};
};

}  // namespace berth::kube
