// The embedded API server beside kube-apiserver with etcd: the same client, the same objects, both
// over HTTPS and in processes of their own.

#include <algorithm>
#include <atomic>
#include <boost/json.hpp>
#include <csignal>
#include <cstdio>
#include <latch>
#include <thread>

#include "base/file.h"
#include "bench.h"
#include "session.h"
#include "sim/kube/https_frontend.h"
#include "support/control_plane.h"
#include "wire/splitters.h"

namespace berth::bench {
namespace {

constexpr int kRooms = 20'000;
constexpr int kWatchers = 1000;
constexpr int kWatchedUpdates = 100;
constexpr Duration kPatchTime = std::chrono::seconds{4};
constexpr Duration kPatience = std::chrono::minutes{3};
constexpr int kListRounds = 3;

Context patiently(Session& session) { return Context{.tasks = session.tasks}.within(kPatience); }

struct Patches {
  double per_second = 0;
  double p50_ms = 0;
  double p99_ms = 0;
};

// Every client patches an object of its own, one patch after the other.
Result<Patches> patch_for_a_while(const std::string& kubeconfig, int clients) {
  Session session;
  if (Result<> opened = session.open(kubeconfig); !opened) return pass(opened);
  std::vector<std::vector<double>> times(static_cast<std::size_t>(clients));
  std::atomic<int> failures{0};
  const Instant begin = session.tasks.now();
  const auto work = [&](int n) {
    const kube::ObjectKey key{"default", room_name(n)};
    for (int i = 0; session.tasks.now() - begin < kPatchTime; ++i) {
      const Instant sent = session.tasks.now();
      const auto patched =
          session.client->patch(patiently(session), room_type(), key, kube::PatchType::merge,
                                wire::Object{{"spec", wire::Object{{"round", i}}}});
      if (!patched) ++failures;
      times[static_cast<std::size_t>(n)].push_back(to_seconds(session.tasks.now() - sent) * 1e3);
    }
  };
  {
    std::vector<std::jthread> threads;
    for (int n = 0; n < clients; ++n) threads.emplace_back(work, n);
  }
  const double seconds = to_seconds(session.tasks.now() - begin);
  if (failures > 0) return fail(Code::internal, "{} patches failed", failures.load());
  std::vector<double> all;
  for (const auto& mine : times) all.insert(all.end(), mine.begin(), mine.end());
  std::ranges::sort(all);
  return Patches{static_cast<double>(all.size()) / seconds, all[all.size() / 2],
                 all[all.size() * 99 / 100]};
}

struct Pair {
  std::string ours;
  std::string theirs;
};

Result<Pair> both_servers(Environment& environment) {
  if (Result<> ready = environment.need_rooms(kRooms); !ready) return pass(ready);
  auto theirs = environment.control_plane();
  if (!theirs) return pass(theirs);
  auto ours = environment.embedded_server();
  if (!ours) return pass(ours);
  if (Result<> ready = environment.need_embedded_rooms(kRooms); !ready) return pass(ready);
  return Pair{*ours, (*theirs)->kubeconfig_path()};
}

Result<std::vector<Line>> patches(Environment& environment) {
  auto servers = both_servers(environment);
  if (!servers) return pass(servers);
  std::vector<Line> lines;
  for (const int clients : {1, 16, 64}) {
    auto ours = patch_for_a_while(servers->ours, clients);
    if (!ours) return pass(ours);
    auto theirs = patch_for_a_while(servers->theirs, clients);
    if (!theirs) return pass(theirs);
    const std::string name = fmt::format("kubesim-patch-{}", clients);
    lines.push_back({name,
                     fmt::format("patches of custom objects, {} clients, embedded server beside "
                                 "kube-apiserver",
                                 clients),
                     ours->per_second, theirs->per_second, "patches/s", "higher"});
    lines.push_back(
        {name + "-p50", "the same, median", ours->p50_ms, theirs->p50_ms, "ms", "lower"});
    lines.push_back(
        {name + "-p99", "the same, 99th percentile", ours->p99_ms, theirs->p99_ms, "ms", "lower"});
  }
  return lines;
}

Result<double> list_seconds(const std::string& kubeconfig) {
  Session session;
  if (Result<> opened = session.open(kubeconfig); !opened) return pass(opened);
  double best = 0;
  for (int round = 0; round < kListRounds; ++round) {
    const Instant begin = session.tasks.now();
    auto stream = session.client->open(
        patiently(session), room_type().path("") + "?resourceVersion=0", "application/json");
    if (!stream) return pass(stream);
    for (;;) {
      auto chunk = (*stream)->read(patiently(session));
      if (!chunk) return pass(chunk);
      if (!*chunk) break;
    }
    const double seconds = to_seconds(session.tasks.now() - begin);
    if (round == 0 || seconds < best) best = seconds;
  }
  return best;
}

Result<std::vector<Line>> lists(Environment& environment) {
  auto servers = both_servers(environment);
  if (!servers) return pass(servers);
  auto ours = list_seconds(servers->ours);
  if (!ours) return pass(ours);
  auto theirs = list_seconds(servers->theirs);
  if (!theirs) return pass(theirs);
  return std::vector<Line>{
      {"kubesim-list", "a list of 20,000 custom objects, embedded server beside kube-apiserver",
       *ours, *theirs, "s", "lower"}};
}

// One watch; counts its events until it has all.
Result<> follow(Session& session, const std::string& path, std::latch& open) {
  auto stream = session.client->open(patiently(session), path, "application/json");
  open.count_down();
  if (!stream) return pass(stream);
  wire::LineSplitter lines;
  int seen = 0;
  while (seen < kWatchedUpdates) {
    auto chunk = (*stream)->read(patiently(session));
    if (!chunk) return pass(chunk);
    if (!*chunk) return fail(Code::unavailable, "a watch ended after {} events", seen);
    Result<> fed = lines.feed(**chunk, [&](std::string_view) -> Result<> {
      ++seen;
      return {};
    });
    if (!fed) return fed;
  }
  return {};
}

// From the first update until the last watcher has seen the last one.
Result<double> events_per_second(const std::string& kubeconfig) {
  Session session;
  if (Result<> opened = session.open(kubeconfig); !opened) return pass(opened);
  auto page = session.client->list(patiently(session), room_type(), {.ns = "default", .limit = 1});
  if (!page) return pass(page);
  const std::string path = fmt::format("{}?watch=true&resourceVersion={}",
                                       room_type().path("default"), page->resource_version);
  std::latch open(kWatchers);
  std::atomic<int> failures{0};
  std::vector<std::jthread> watchers;
  for (int i = 0; i < kWatchers; ++i) {
    watchers.emplace_back([&] {
      if (!follow(session, path, open)) ++failures;
    });
  }
  open.wait();
  const Instant begin = session.tasks.now();
  for (int i = 0; i < kWatchedUpdates; ++i) {
    auto patched = session.client->patch(
        patiently(session), room_type(), {"default", room_name(i)}, kube::PatchType::merge,
        wire::Object{{"spec", wire::Object{{"watched", to_seconds(begin.time_since_epoch())}}}});
    if (!patched) ++failures;
  }
  watchers.clear();
  const double seconds = to_seconds(session.tasks.now() - begin);
  if (failures > 0) return fail(Code::internal, "{} watches or patches failed", failures.load());
  return double{kWatchers} * kWatchedUpdates / seconds;
}

Result<std::vector<Line>> watches(Environment& environment) {
  auto servers = both_servers(environment);
  if (!servers) return pass(servers);
  auto ours = events_per_second(servers->ours);
  if (!ours) return pass(ours);
  auto theirs = events_per_second(servers->theirs);
  if (!theirs) return pass(theirs);
  return std::vector<Line>{{"kubesim-watch",
                            "events to 1,000 watchers of one kind, embedded server beside "
                            "kube-apiserver",
                            *ours, *theirs, "events/s", "higher"}};
}

}  // namespace

Result<> serve_embedded(const std::string& kubeconfig_path) {
  sigset_t ends{};
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);
  ThreadTasks tasks;
  net::CurlTransport transport;
  auto server = sim::kube::HttpsFrontend::start(tasks, {.transport = &transport});
  if (!server) return pass(server);
  auto kubeconfig = (*server)->kubeconfig("admin", {"system:masters"});
  if (!kubeconfig) return pass(kubeconfig);
  if (Result<> written = write_file(kubeconfig_path, *kubeconfig, 0600); !written) return written;
  std::puts("ready");
  std::fflush(stdout);
  int signal = 0;
  sigwait(&ends, &signal);
  return {};
}

std::vector<Bench> kubesim_benches() {
  return {{{"kubesim-patch"}, patches}, {{"kubesim-list"}, lists}, {{"kubesim-watch"}, watches}};
}

}  // namespace berth::bench
