// Reflector keeps a target equal to what the API server has of one resource: it lists, then
// watches, and lists again when the watch cannot go on. It knows no types: the target decodes and
// keeps.
//
// One task runs it, and only that task calls the target. Nothing is lost: a watch continues at the
// last version that the target has seen, and where the server no longer has the changes since, a
// list takes their place.
//
// - The first list takes what the server's cache has (version 0). Later ones are at least as new as
//   what was seen. After `expired` or `too_new`, and for `relist_at_latest`, one is consistent.
// - A watch that ended well, broke or was silent for too long goes on with a new stream. So does
// one
//   that the server refused for being busy or down. Anything else leads to a list.
// - After a failure, attempts start at least a growing, jittered time apart: a stream that lived
// for
//   long is followed at once.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>

#include "base/context.h"
#include "base/mutex.h"
#include "base/random.h"
#include "kube/cache/backoff.h"
#include "kube/cache/list_reader.h"
#include "kube/cache/projection.h"
#include "kube/cache/waiters.h"
#include "kube/cache/watch_event.h"
#include "kube/client/client.h"
#include "kube/client/encoding.h"

namespace berth::kube {

// Bookmarks come about once a minute, so a stream without a byte for this long is dead, or the
// server sends none: both are served by a new stream.
inline constexpr Duration kSilentStreamLimit = std::chrono::seconds{150};
// A list that stops arriving for this long is broken off.
inline constexpr Duration kSilentListLimit = std::chrono::seconds{60};
// A watch that ends before this without an event would be repeated in a tight loop.
inline constexpr Duration kShortestWatch = std::chrono::seconds{1};
// How long the server shall keep a watch open: randomly between the two, so that clients spread.
inline constexpr std::uint64_t kMinWatchSeconds = 300;
inline constexpr std::uint64_t kMaxWatchSeconds = 600;
// Of lists that do not name a version; a server without a watch cache reads them from its storage.
inline constexpr std::size_t kListPage = 500;

// What is kept up to date. Called by the reflector's task alone.
class ReflectorTarget {
 public:
  virtual ~ReflectorTarget() = default;
  // The version up to which everything is known; 0 before the first list.
  virtual ResourceVersion seen() const = 0;

  // Also in the middle of a list, which then starts over.
  virtual void begin_list() = 0;
  virtual void list_item(Encoding encoding, std::string_view object) = 0;
  // Fails with `expired` when the list does not continue what was seen: one more is needed.
  virtual Result<> end_list(ResourceVersion at) = 0;
  virtual void abandon_list() = 0;

  // Added, modified or deleted. After it `seen` is the object's version.
  virtual void event(EventType type, Encoding encoding, std::string_view object) = 0;
  // Nothing happened up to this version but what was told.
  virtual void bookmark(ResourceVersion at) = 0;
};

struct ReflectorOptions {
  ResourceType type;
  Selection selection{};
  bool protobuf = false;  // ask for it first; JSON is always understood
  metrics::Registry* registry = nullptr;
  BackoffPolicy backoff{};
};

class Reflector {
 public:
  Reflector(Client& client, ReflectorTarget& target, ReflectorOptions options, Random random);
  ~Reflector();

  // Until the context is stopped.
  void run(const Context& context);
  // Blocks until a consistent list, begun after this call, has been applied. Any task; `run` must
  // be running.
  Result<> relist_at_latest(const Context& context);

 private:
  struct Metrics;
  class Cycle;

  Result<> list(const Context& context);
  Result<> list_at(const Context& context, const std::string& version);
  Result<ListEnvelope> read_page(const Context& context, const ListOptions& page);

  // Ends with the error that makes a list necessary, or when the context does.
  Error watch(const Context& context);
  // One stream; counts the events.
  Result<> watch_once(const Context& context, std::size_t& events);
  Result<> handle(Encoding encoding, std::string_view message);

  std::string path_of(const ListOptions& page) const;
  std::string watch_path();
  // Waits until it is time for another attempt after one that began at `since` and failed so.
  void pause(const Context& context, Instant since, const Error& failure);
  LogFields fields(const Context& context) const;
  bool list_wanted() const;

  Client& client_;
  ReflectorTarget& target_;
  const ReflectorOptions options_;
  const std::unique_ptr<Metrics> metrics_;

  // Of the running task.
  Random random_;
  Backoff backoff_;
  bool version_refused_ = false;  // the next list must be consistent
  wire::JsonReader event_reader_;
  wire::JsonReader bookmark_reader_;

  mutable Mutex mu_;
  std::uint64_t wanted_ GUARDED_BY(mu_) = 0;   // consistent lists asked for ...
  std::uint64_t applied_ GUARDED_BY(mu_) = 0;  // ... and done
  std::stop_source interrupt_ GUARDED_BY(mu_);
  Waiters waiters_;
};

}  // namespace berth::kube
