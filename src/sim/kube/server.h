// The embedded API server: a plain machine that answers one request at a time, without threads,
// sockets or clocks.
//
// Simulation calls it in process; `https_frontend.h` puts it behind HTTPS. Thread-safe: any number
// of handlers may call `handle` at once. No lock is held while a webhook is called or a watch is
// fed.
//
// What our controllers read or write behaves as on kube-apiserver 1.36, as far as the README says.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "net/http.h"
#include "net/server.h"
#include "sim/kube/authentication.h"
#include "sim/kube/faults.h"
#include "sim/kube/pod_runtime.h"
#include "sim/kube/webhook_caller.h"
#include "wire/value.h"

namespace berth::sim::kube {

// All objects as they were at a moment, and what was served then. Opaque, immutable.
struct Backup;

struct ServerOptions {
  // Names from generateName and uids come from it.
  std::uint64_t seed = 1;
  // How many changes a watch or a page may lie behind; older ones answer 410.
  std::size_t history_changes = 8192;
  // What a slow reader of a watch may have outstanding before the watch is ended.
  std::size_t watch_buffer_bytes = 4u << 20;
  Access access{};
  // What tokens of service accounts are signed with; empty: made from the seed, which anybody can.
  std::string token_key{};
  // Must outlive the server. Without one, every webhook is unreachable.
  WebhookCaller* webhooks = nullptr;
  // What runs Pods; must outlive the server. Without one their logs are empty, and nothing can be
  // run in them.
  PodRuntime* pod_runtime = nullptr;
  // Whether the server notes who owns which field. A simulation may go without, as for objects
  // whose owners somebody has taken away: they are a third of an object, and of the work on it.
  bool tracks_fields = true;
  // What another server had; it goes on from there. Empty: a cluster that has just been made.
  std::shared_ptr<const Backup> begins_with{};
};

struct Answer {
  net::Reply reply{};
  // The transport shall wait this long before it hands the reply on (`Faults::delay_next`).
  Duration delay{};
  // The object that a write answers with, as it is stored (managedFields is text), for those who
  // look on. Empty: they read the reply.
  std::shared_ptr<const wire::Value> object{};
};

class Server {
 public:
  // `now` is the creation time of the four namespaces that every new cluster has.
  Server(ServerOptions options, WallTime now);
  ~Server();

  // The request's url is path and query. A watch answers with `reply.stream`.
  Answer handle(const net::Request& request, const net::Peer& peer, WallTime now);

  // Ends watches whose time is over and sends bookmarks. Call it about once a second.
  void tick(WallTime now);

  // What shall go wrong, and when.
  Faults& faults();
  // Ends all watches as a restart of the server would.
  void drop_watches();
  // Forgets the history: older watches and pages answer 410 from now on.
  void compact();

  std::shared_ptr<const Backup> backup() const;
  // Puts objects back as they were, with their uids, under new versions: all, or those of one
  // resource ("listeners"). What did not exist then is gone. All watches end and the history is
  // forgotten, as for clients of a server that comes up on a restored etcd.
  void restore(const Backup& backup, std::string_view resource = {});

  // The objects of a resource at this moment, for those who look on from outside of the cluster: no
  // request, so nothing goes wrong, and nothing is written out. As they are stored: managedFields
  // is text. Nothing when no such resource is served.
  std::optional<std::vector<std::shared_ptr<const wire::Value>>> objects(
      std::string_view group, std::string_view resource) const;
  std::uint64_t resource_version() const;
  std::size_t open_watches() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace berth::sim::kube
