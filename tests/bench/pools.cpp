// Port pools: how soon a Pod is Ready, how soon a controller serves again, and how often it writes.
// Beside what the API server alone would take for the same.

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <boost/json.hpp>
#include <fstream>

#include "api/listener.h"
#include "api/pod_ports.h"
#include "bench.h"
#include "edge/driver.h"
#include "house.h"
#include "support/control_plane.h"

namespace berth::bench {
namespace {

constexpr int kBareWrites = 1500;
// From an address to Ready: per Listener its target and its status; PortBinding, its status, the
// Pod. The formula of the design without the claims.
constexpr double kWritesAfterAdmission = 5;
constexpr int kRestartListeners = 100'000;
constexpr int kRestartListenersReal = 20'000;
constexpr int kRestarts = 5;

wire::Object status_with_ip(int n) {
  return {
      {"status",
       wire::Object{{"phase", "Running"},
                    {"podIP", fmt::format("127.20.{}.{}", n / 250, 1 + n % 250)},
                    {"podIPs", wire::Array{wire::Object{
                                   {"ip", fmt::format("127.20.{}.{}", n / 250, 1 + n % 250)}}}}}}};
}

bool is_ready(const wire::Value& pod) {
  return wire::string_at(pod, "/metadata/annotations/" +
                                  wire::escape_pointer_step(api::kBindStatusAnnotation)) ==
         api::kReady;
}

Result<> create_rooms_of(House& house, const std::string& prefix, const std::string& ask,
                         int count) {
  std::atomic<int> failures{0};
  Mutex mu;
  std::string last;
  on_threads(8, count, [&](int i) {
    const auto made = house.client().create(house.patiently(), kube::types::kPod,
                                            room(fmt::format("{}-{}", prefix, i), ask));
    if (made) return;
    ++failures;
    const MutexLock lock(mu);
    last = made.error().to_string();
  });
  if (failures > 0) return fail(Code::internal, "{} Pods were refused: {}", failures.load(), last);
  return {};
}

// Seconds from the first address to the last Pod told Ready.
Result<double> until_ready(House& house, const std::string& prefix, int count) {
  const Context context = house.patiently();
  const Instant begin = house.tasks().now();
  std::atomic<int> failures{0};
  on_threads(kWriters, count, [&](int i) {
    if (!house.client().patch(context, kube::types::kPod,
                              {"games", fmt::format("{}-{}", prefix, i)}, kube::PatchType::merge,
                              status_with_ip(i), {.subresource = "status"}))
      ++failures;
  });
  if (failures > 0) return fail(Code::internal, "{} Pods got no address", failures.load());
  int left = count - 1;
  while (left >= 0) {
    const auto pod = house.client().get(context, kube::types::kPod,
                                        {"games", fmt::format("{}-{}", prefix, left)});
    if (!pod) return fail(pod.error());
    if (is_ready(*pod)) {
      --left;
    } else if (context.expired()) {
      return fail(Code::timeout, "{} of {} Pods are not Ready", left + 1, count);
    } else if (count > 1) {
      (void)sleep_for(house.tasks(), std::chrono::milliseconds{2}, {});
    }
  }
  return to_seconds(house.tasks().now() - begin);
}

Result<> remove_rooms(House& house, const std::string& prefix, int count) {
  on_threads(kWriters, count, [&](int i) {
    (void)house.client().remove(house.patiently(), kube::types::kPod,
                                {"games", fmt::format("{}-{}", prefix, i)}, {.grace_seconds = 0});
  });
  return {};
}

Result<std::vector<Line>> ready_one(Environment& environment) {
  constexpr int kRounds = 30;
  Result<std::unique_ptr<edge::EdgeDriver>> edge =
      edge::EdgeDriver::start({.loopback_targets = true});
  if (!edge) return pass(edge);
  Result<std::unique_ptr<House>> house =
      embedded_house(environment, lb::Drivers::always((*edge)->seams()));
  if (!house) return pass(house);
  if (Result<> made = (*house)->need_pool("rooms", 100); !made) return pass(made);
  std::vector<double> times;
  for (int i = 0; i < kRounds; ++i) {
    const std::string prefix = fmt::format("one{}", i);
    if (Result<> made = create_rooms_of(**house, prefix, "rooms TCP 8000", 1); !made)
      return pass(made);
    Result<double> took = until_ready(**house, prefix, 1);
    if (!took) return pass(took);
    times.push_back(*took * 1e3);
    (void)remove_rooms(**house, prefix, 1);
  }
  const auto bare = bare_patches(**house, "rooms", 1, 300);
  if (!bare) return fail(bare.error());
  return std::vector<Line>{
      {"ready-1", "from an address to Ready, one Pod on edge, beside 5 bare writes in a row",
       percentile(times, 0.5), kWritesAfterAdmission * percentile(bare->times_ms, 0.5), "ms",
       "lower"}};
}

Result<Line> ready_many(House& house, const std::string& name, const std::string& where,
                        int count) {
  if (Result<> made = house.need_pool("rooms" + std::to_string(count), count + 100); !made)
    return pass(made);
  const std::string pool = "rooms" + std::to_string(count);
  if (Result<> made = create_rooms_of(house, pool, pool + " TCP 8000", count); !made)
    return pass(made);
  Result<double> took = until_ready(house, pool, count);
  if (!took) return pass(took);
  const auto bare = bare_patches(house, pool, kWriters, kBareWrites);
  if (!bare) return fail(bare.error());
  // The addresses are writes as well.
  const double bound = count * (kWritesAfterAdmission + 1) / bare->per_second;
  return Line{
      name,
      fmt::format("{} Pods from address to Ready, {}, beside its bare write rate", count, where),
      *took,
      bound,
      "s",
      "lower"};
}

Result<std::vector<Line>> ready_thousands(Environment& environment) {
  Model model;
  Result<std::unique_ptr<House>> house = embedded_house(environment, model.drivers);
  if (!house) return pass(house);
  std::vector<Line> lines;
  for (const int count : {1000, 10000}) {
    Result<Line> line =
        ready_many(**house, fmt::format("ready-{}", count), "embedded server, model driver", count);
    if (!line) return pass(line);
    lines.push_back(std::move(*line));
  }
  return lines;
}

Result<std::vector<Line>> ready_real(Environment& environment) {
  Result<testing::ControlPlane*> cluster = environment.fresh_control_plane();
  if (!cluster) return pass(cluster);
  Model model;
  Result<std::unique_ptr<House>> house = House::open((*cluster)->kubeconfig_path(), model.drivers);
  if (!house) return pass(house);
  if (Result<> made = (*house)->need_namespace(); !made) return pass(made);
  Result<Line> line = ready_many(**house, "ready-1000-real", "kube-apiserver, model driver", 1000);
  if (!line) return pass(line);
  (void)remove_rooms(**house, "rooms1000", 1000);
  return std::vector<Line>{std::move(*line)};
}

// Writes from admission to Ready of one Pod, and none after it.
Result<double> writes_of_one(House& house, const std::string& name, const std::string& ask) {
  house.wait_until_quiet();
  const std::uint64_t before = house.writes();
  if (Result<> made = create_rooms_of(house, name, ask, 1); !made) return pass(made);
  Result<double> took = until_ready(house, name, 1);
  if (!took) return took;
  (void)sleep_for(house.tasks(), std::chrono::seconds{3}, {});
  return static_cast<double>(house.writes() - before);
}

Result<std::vector<Line>> writes_per_pod(Environment& environment) {
  Model model;
  Result<std::unique_ptr<House>> house = embedded_house(environment, model.drivers);
  if (!house) return pass(house);
  if (Result<> made = (*house)->need_pool("single", 10); !made) return pass(made);
  if (Result<> made = (*house)->create_pool("double", 10, "", {"lb-a", "lb-b"}); !made)
    return pass(made);
  if (Result<> filled = (*house)->wait_for_pool("double"); !filled) return pass(filled);
  Result<double> one = writes_of_one(**house, "one", "single TCP 8000");
  if (!one) return pass(one);
  Result<double> two = writes_of_one(**house, "two", "double TCP_UDP 8000");
  if (!two) return pass(two);
  return std::vector<Line>{
      {"writes-per-pod", "one port on one load balancer, beside claims + 2 per Listener + 3", *one,
       1 + 2 * 1 + 3, "writes", "lower"},
      {"writes-per-pod-tcp-udp", "TCP_UDP on two load balancers, beside the same formula", *two,
       2 + 2 * 4 + 3, "writes", "lower"}};
}

double resident_megabytes() {
  (void)::malloc_trim(0);
  std::ifstream statm("/proc/self/statm");
  double size = 0, resident = 0;
  statm >> size >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1e6;
}

// Reads the list and throws it away.
Result<double> bare_transfer(House& house) {
  const Instant begin = house.tasks().now();
  auto stream = house.client().open(house.patiently(),
                                    api::listener_kind().type.path("") + "?resourceVersion=0",
                                    "application/json");
  if (!stream) return pass(stream);
  for (;;) {
    auto chunk = (*stream)->read(house.patiently());
    if (!chunk) return pass(chunk);
    if (!*chunk) return to_seconds(house.tasks().now() - begin);
  }
}

struct Restarts {
  std::vector<double> serving;   // seconds
  std::vector<double> transfer;  // seconds
  double memory = 0;             // megabytes, of the first
  double writes = 0;             // of all
};

// One controller after the other, and between them the bare transfer: what else the machine does
// happens to both.
Result<Restarts> restarts_on(const std::string& kubeconfig, lb::Drivers drivers,
                             std::unique_ptr<House> house) {
  Restarts out;
  for (int i = 0; i < kRestarts; ++i) {
    Result<double> transfer = bare_transfer(*house);
    if (!transfer) return pass(transfer);
    out.transfer.push_back(*transfer);
    const std::uint16_t webhook_port = house->webhook_port();
    house.reset();
    const double before = resident_megabytes();
    Result<std::unique_ptr<House>> again = House::open(kubeconfig, drivers, webhook_port);
    if (!again) return pass(again);
    house = std::move(*again);
    out.serving.push_back(to_seconds(house->took_to_serve()));
    if (Result<> leads = house->wait_until_leading(); !leads) return pass(leads);
    (void)sleep_for(house->tasks(), std::chrono::seconds{3}, {});
    out.writes += static_cast<double>(house->writes());
    if (i == 0) out.memory = resident_megabytes() - before;
  }
  return out;
}

Result<std::vector<Line>> restart_on(const std::string& kubeconfig, const std::string& name,
                                     int listeners) {
  Model model;
  Result<std::unique_ptr<House>> house = House::open(kubeconfig, model.drivers);
  if (!house) return pass(house);
  if (Result<> made = (*house)->need_namespace(); !made) return pass(made);
  if (Result<> made = (*house)->need_pool("many", listeners); !made) return pass(made);
  (*house)->wait_until_quiet();
  const Result<Restarts> found = restarts_on(kubeconfig, model.drivers, std::move(*house));
  if (!found) return fail(found.error());
  return std::vector<Line>{
      {name,
       fmt::format("restart to serving with {} Listeners, beside the bare transfer of the list; "
                   "medians of {}",
                   listeners, kRestarts),
       percentile(found->serving, 0.5), percentile(found->transfer, 0.5), "s", "lower"},
      {name + "-memory", "resident memory for them, beside 1,000 bytes each", found->memory,
       listeners * 1e3 / 1e6, "MB", "lower"},
      {name + "-writes", "writes in the first seconds when nothing changed, beside one",
       found->writes, 1, "writes", "lower"}};
}

Result<std::vector<Line>> restart(Environment& environment) {
  Result<std::string> kubeconfig = environment.fresh_embedded_server();
  if (!kubeconfig) return pass(kubeconfig);
  return restart_on(*kubeconfig, "restart-100k", kRestartListeners);
}

Result<std::vector<Line>> restart_real(Environment& environment) {
  Result<testing::ControlPlane*> cluster = environment.fresh_control_plane();
  if (!cluster) return pass(cluster);
  return restart_on((*cluster)->kubeconfig_path(), "restart-20k-real", kRestartListenersReal);
}

}  // namespace

std::vector<Bench> pool_benches() {
  return {
      {{"ready-1"}, ready_one},
      {{"ready-1000", "ready-10000"}, ready_thousands},
      {{"ready-1000-real"}, ready_real},
      {{"writes-per-pod", "writes-per-pod-tcp-udp"}, writes_per_pod},
      {{"restart-100k", "restart-100k-memory", "restart-100k-writes"}, restart},
      {{"restart-20k-real", "restart-20k-real-memory", "restart-20k-real-writes"}, restart_real}};
}

}  // namespace berth::bench
