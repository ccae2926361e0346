// Filling and following a cache on a real kube-apiserver, beside client-go and beside the bare
// transfer.

#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/json.hpp>
#include <cstdio>
#include <fstream>
#include <thread>

#include "bench.h"
#include "kube/cache/informer.h"
#include "kube/cache/pod.h"
#include "session.h"
#include "support/control_plane.h"

namespace berth::bench {
namespace {

constexpr int kPods = 50'000;
constexpr int kRooms = 20'000;
constexpr int kUpdates = 5'000;
constexpr int kUpdaters = 32;
// The best of so many: other processes of the machine only ever add time.
constexpr int kRounds = 3;
constexpr Duration kPatience = std::chrono::minutes{3};
constexpr std::string_view kProtobuf = "application/vnd.kubernetes.protobuf,application/json";

struct RoomObject {
  kube::ObjectMeta meta{};
  std::int64_t port = 0;
  std::string protocol{};
};

kube::Projection<RoomObject> room_projection() {
  return {.type = room_type(),
          .from_json = [](wire::JsonReader& reader, std::string_view text) -> Result<RoomObject> {
            RoomObject room;
            Result<> read = kube::decode_object(
                reader, text, room_type(), {}, room.meta,
                [&](std::string_view key, wire::JsonNode value) {
                  if (key != "spec") return;
                  value.fields([&](std::string_view field, wire::JsonNode inner) {
                    if (field == "port") room.port = inner.integer();
                    if (field == "protocol") room.protocol = std::string(inner.string());
                  });
                });
            if (!read) return pass(read);
            return room;
          }};
}

kube::Projection<kube::Pod> bench_pods() {
  return kube::pod_projection(
      {.annotations = kube::KeyFilter::only(
           {"portpools.networkextension", "ports.portpools.networkextension"})});
}

double resident_bytes() {
  std::ifstream statm("/proc/self/statm");
  double size = 0, resident = 0;
  statm >> size >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

double cpu_seconds() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

void print_json(const wire::Object& object) {
  std::puts(wire::to_json(object).c_str());
  std::fflush(stdout);
}

template <class T>
Result<> child_sync(Session& session, kube::Projection<T> projection) {
  const double before = resident_bytes();
  kube::Informer<T> informer(session.tasks, *session.client, std::move(projection),
                             Random::from_entropy());
  const Instant begin = session.tasks.now();
  informer.start({});
  if (Result<> synced = informer.wait_synced(Context{.tasks = session.tasks}.within(kPatience));
      !synced)
    return synced;
  const double seconds = to_seconds(session.tasks.now() - begin);
  (void)::malloc_trim(0);  // as the peer gives its garbage back before it is measured
  print_json({{"objects", informer.store().size()},
              {"seconds", seconds},
              {"rss_before", before},
              {"rss_after", resident_bytes()}});
  return {};
}

template <class T>
Result<> child_watch(Session& session, kube::Projection<T> projection, int expect) {
  std::atomic<int> seen{0};
  std::atomic<Instant> first{}, last{};
  const auto done = session.tasks.signal();
  kube::Informer<T> informer(session.tasks, *session.client, std::move(projection),
                             Random::from_entropy());
  informer.store().on_change([&](const kube::Change<T>& change) {
    if (!change.before || !change.after) return;
    last = session.tasks.now();
    if (seen++ == 0) first = last.load();
    if (seen == expect) done->notify();
  });
  informer.start({});
  const Context patience = Context{.tasks = session.tasks}.within(kPatience);
  if (Result<> synced = informer.wait_synced(patience); !synced) return synced;
  const double before = cpu_seconds();
  std::puts("ready");
  std::fflush(stdout);
  if (!session.tasks.wait(*done, patience.deadline, {}))
    return fail(Code::timeout, "{} of {} updates", seen.load(), expect);
  print_json({{"events", expect},
              {"seconds", to_seconds(last.load() - first.load())},
              {"cpu_seconds", cpu_seconds() - before}});
  return {};
}

// Reads the list and throws it away: nobody can fill a cache faster.
Result<> child_transfer(Session& session, const kube::ResourceType& type, std::string_view accept) {
  const Context context{.tasks = session.tasks};
  const Instant begin = session.tasks.now();
  auto stream = session.client->open(context, type.path("") + "?resourceVersion=0", accept);
  if (!stream) return pass(stream);
  std::size_t bytes = 0;
  for (;;) {
    auto chunk = (*stream)->read(context);
    if (!chunk) return pass(chunk);
    if (!*chunk) break;
    bytes += (*chunk)->size();
  }
  print_json({{"bytes", bytes}, {"seconds", to_seconds(session.tasks.now() - begin)}});
  return {};
}

// The round with the least of `key`.
Result<std::map<std::string, double>> best_of(const std::filesystem::path& program,
                                              const std::vector<std::string>& args,
                                              const std::string& key) {
  std::optional<std::map<std::string, double>> best;
  for (int round = 0; round < kRounds; ++round) {
    Result<std::map<std::string, double>> numbers = numbers_from(program, args);
    if (!numbers) return numbers;
    if (!best || numbers->at(key) < best->at(key)) best = std::move(*numbers);
  }
  return *best;
}

struct Kind {
  std::string line;           // "sync-pods"
  std::string ours;           // how the child calls it
  std::string peer_resource;  // how the peer calls it
  std::string shown;
};

Result<std::vector<Line>> measure_sync(Environment& environment, const Kind& kind) {
  Result<testing::ControlPlane*> cluster = environment.control_plane();
  Result<std::filesystem::path> peers = environment.peers();
  if (!cluster) return pass(cluster);
  if (!peers) return pass(peers);
  const std::string kubeconfig = (*cluster)->kubeconfig_path();
  const auto child = [&](const char* mode) {
    return best_of(environment.own_program(),
                   {"--child", mode, "--resource", kind.ours, "--kubeconfig", kubeconfig},
                   "seconds");
  };
  auto ours = child("sync");
  if (!ours) return pass(ours);
  auto bound = child("transfer");
  if (!bound) return pass(bound);
  auto theirs = best_of(*peers / "clientgo-sync",
                        {"--kubeconfig", kubeconfig, "--resource", kind.peer_resource}, "seconds");
  if (!theirs) return pass(theirs);
  std::vector<Line> lines{
      {kind.line, kind.shown + " to a synced store, beside client-go's informer",
       ours->at("seconds"), theirs->at("seconds"), "s", "lower"},
      {kind.line + "-bound", "the same beside the bare transfer of the list", ours->at("seconds"),
       bound->at("seconds"), "s", "lower"}};
  if (kind.ours == "pods") {
    const auto per_pod = [](const std::map<std::string, double>& n) {
      return (n.at("rss_after") - n.at("rss_before")) / n.at("objects");
    };
    lines.push_back({"memory-per-pod", "resident memory per cached Pod, beside client-go",
                     per_pod(*ours), per_pod(*theirs), "bytes", "lower"});
  }
  return lines;
}

Result<std::vector<Line>> sync_pods(Environment& environment) {
  if (Result<> ready = environment.need_pods(kPods); !ready) return pass(ready);
  return measure_sync(environment, {"sync-pods", "pods", "pods", "50,000 Pods"});
}

Result<std::vector<Line>> sync_custom(Environment& environment) {
  if (Result<> ready = environment.need_rooms(kRooms); !ready) return pass(ready);
  return measure_sync(
      environment, {"sync-custom", "rooms", "bench.berth.dev/v1/rooms", "20,000 custom objects"});
}

std::string text_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

bool wait_for_text(const std::filesystem::path& file, std::string_view text) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::minutes{2};
  while (std::chrono::steady_clock::now() < until) {
    if (text_of(file).find(text) != std::string::npos) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
  }
  return false;
}

void update_rooms(const std::string& kubeconfig) {
  ThreadTasks tasks;
  net::CurlTransport transport;
  kube::Client client(transport, kube::load_kubeconfig({kubeconfig}, "").value());
  std::atomic<int> next{0};
  std::vector<std::jthread> updaters;
  for (int i = 0; i < kUpdaters; ++i) {
    updaters.emplace_back([&] {
      for (int n = next++; n < kUpdates; n = next++) {
        (void)client.patch({.tasks = tasks}, room_type(), {"default", room_name(n)},
                           kube::PatchType::merge,
                           wire::Object{{"spec", wire::Object{{"round", n}}}});
      }
    });
  }
}

// Both follow the same updates at the same time. How fast those come is the server's doing, so what
// counts is the processor time that following takes.
Result<std::vector<Line>> watch_events(Environment& environment) {
  if (Result<> ready = environment.need_rooms(kRooms); !ready) return pass(ready);
  Result<testing::ControlPlane*> cluster = environment.control_plane();
  Result<std::filesystem::path> peers = environment.peers();
  if (!peers) return pass(peers);
  const std::string kubeconfig = (*cluster)->kubeconfig_path();
  const testing::ScratchDir folder = testing::ScratchDir::create("berth-bench").value();
  const auto ours_log = folder.path() / "ours", theirs_log = folder.path() / "theirs";
  const std::string expect = fmt::format("{}", kUpdates);
  auto ours = testing::Process::spawn({.program = environment.own_program(),
                                       .args = {"--child", "watch", "--resource", "rooms",
                                                "--kubeconfig", kubeconfig, "--expect", expect},
                                       .env = {}},
                                      ours_log);
  auto theirs = testing::Process::spawn(
      {.program = *peers / "clientgo-sync",
       .args = {"--kubeconfig", kubeconfig, "--resource", "bench.berth.dev/v1/rooms", "--mode",
                "watch-events", "--expect", expect},
       .env = {}},
      theirs_log);
  if (!ours || !theirs) return fail(Code::internal, "the watchers did not start");
  if (!wait_for_text(ours_log, "ready") || !wait_for_text(theirs_log, "ready"))
    return fail(Code::timeout, "the watchers are not ready");
  update_rooms(kubeconfig);
  if (!wait_for_text(ours_log, "events") || !wait_for_text(theirs_log, "events"))
    return fail(Code::timeout, "updates are missing");
  const auto rate = [](const std::filesystem::path& log) {
    const std::string text = text_of(log);
    const auto json =
        wire::parse_json(text.substr(text.rfind('{'), text.rfind('}') + 1 - text.rfind('{')));
    const wire::Value* seconds = json ? wire::find(*json, "/cpu_seconds") : nullptr;
    return seconds ? kUpdates / seconds->to_number<double>() : 0;
  };
  return std::vector<Line>{{"watch-events",
                            "updates into the store per second of processor time, both following "
                            "the same writes, beside "
                            "client-go",
                            rate(ours_log), rate(theirs_log), "events/cpu s", "higher"}};
}

}  // namespace

Result<> run_child(const std::string& mode, const std::string& resource,
                   const std::string& kubeconfig, int expect) {
  Session session;
  if (Result<> opened = session.open(kubeconfig); !opened) return opened;
  const bool pods = resource == "pods";
  if (mode == "sync")
    return pods ? child_sync(session, bench_pods()) : child_sync(session, room_projection());
  if (mode == "watch")
    return pods ? child_watch(session, bench_pods(), expect)
                : child_watch(session, room_projection(), expect);
  if (mode == "transfer") {
    return pods ? child_transfer(session, kube::types::kPod, kProtobuf)
                : child_transfer(session, room_type(), "application/json");
  }
  return fail(Code::invalid, "--child {} is not one of sync, watch, transfer", mode);
}

std::vector<Bench> sync_benches() {
  return {{{"sync-pods", "sync-pods-bound", "memory-per-pod"}, sync_pods},
          {{"sync-custom", "sync-custom-bound"}, sync_custom},
          {{"watch-events"}, watch_events}};
}

}  // namespace berth::bench
