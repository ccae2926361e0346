// What an installed controller takes while nothing happens: the program that users get, beside a
// real kube-apiserver, with ten thousand Listeners and with none.

#include <fmt/format.h>
#include <unistd.h>

#include <boost/json.hpp>
#include <fstream>
#include <optional>
#include <sstream>

#include "api/port_pool.h"
#include "bench.h"
#include "session.h"
#include "support/control_plane.h"
#include "support/eventually.h"
#include "support/reserved_port.h"
#include "support/subprocess.h"

namespace berth::bench {
namespace {

using namespace std::chrono_literals;

constexpr int kListeners = 10000;
constexpr int kFirstPort = 20000;
// What a start leaves behind has ended by then.
constexpr Duration kSettle = 20s;
constexpr Duration kWatched = 60s;

struct Usage {
  double megabytes = 0;
  double cpu_ms_per_second = 0;
};

double resident_megabytes(pid_t pid) {
  std::ifstream statm(fmt::format("/proc/{}/statm", pid));
  double size = 0, resident = 0;
  statm >> size >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1e6;
}

double cpu_milliseconds(pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::stringstream text;
  text << file.rdbuf();
  // After the name, which may have blanks, user and system time are the twelfth and thirteenth.
  std::istringstream rest(text.str().substr(text.str().rfind(')') + 1));
  std::string skipped;
  for (int i = 0; i < 11; ++i) rest >> skipped;
  double user = 0, system = 0;
  rest >> user >> system;
  return (user + system) * 1e3 / static_cast<double>(sysconf(_SC_CLK_TCK));
}

// One controller after the other on a control plane of their own.
class Installed {
 public:
  explicit Installed(testing::ControlPlane& plane) : plane_(plane) {}

  Result<> open() {
    auto port = testing::ReservedPort::take();
    if (!port) return fail(Code::unavailable, "{}", port.error());
    port_.emplace(std::move(*port));
    return session_.open(plane_.kubeconfig_path().string());
  }
  Result<> start() {
    auto started = testing::Process::spawn(
        {.program = BERTH_PROGRAM,
         .args = {"controller", "--kubeconfig", plane_.kubeconfig_path().string(), "--user",
                  "admin", "--edge-loopback", "--share-webhook-port",
                  fmt::format("--webhook-port={}", port_->number())},
         .env = {}},
        plane_.directory() / "berth.log");
    if (!started) return fail(Code::unavailable, "{}", started.error());
    process_.emplace(std::move(*started));
    return {};
  }
  void stop() {
    process_->terminate();
    process_->stop(10s);
  }
  Result<> fill() {
    const auto applied =
        plane_.kubectl({"apply", "-f", "-"}, fmt::format(R"(
apiVersion: v1
kind: Namespace
metadata: {{name: games, labels: {{bcs-ingress-controller-inject: "true"}}}}
---
apiVersion: networkextension.bkbcs.tencent.com/v1
kind: PortPool
metadata: {{name: many, namespace: games}}
spec:
  poolItems:
  - {{itemName: item1, loadBalancerIDs: ["edge:many"], protocol: TCP, startPort: {}, endPort: {}}}
)",
                                                         kFirstPort, kFirstPort + kListeners));
    if (!applied.ok()) return fail(Code::unavailable, "{}", applied.err);
    return until("the pool is Ready", [this] {
      const auto pool =
          session_.client->get(context(), api::port_pool_kind().type, {"games", "many"});
      return pool && wire::string_at(*pool, "/status/status") == api::kReady;
    });
  }
  // When its kinds are there, it leads and has installed them.
  Result<> until_installed() {
    return until("the kinds are installed", [this] {
      return session_.client->list_all(context(), api::port_pool_kind().type, {}).has_value();
    });
  }
  Result<Usage> watch() {
    (void)sleep_for(session_.tasks, kSettle, {});
    const double before = cpu_milliseconds(process_->pid());
    const Instant begin = session_.tasks.now();
    (void)sleep_for(session_.tasks, kWatched, {});
    if (!process_->running()) return fail(Code::unavailable, "the controller has ended");
    return Usage{.megabytes = resident_megabytes(process_->pid()),
                 .cpu_ms_per_second = (cpu_milliseconds(process_->pid()) - before) /
                                      to_seconds(session_.tasks.now() - begin)};
  }

 private:
  Context context() { return Context{.tasks = session_.tasks}.within(30s); }
  Result<> until(std::string_view what, const std::function<bool()>& done) {
    if (testing::eventually(300s, done)) return {};
    return fail(Code::timeout, "it does not come to it that {}", what);
  }

  testing::ControlPlane& plane_;
  Session session_;
  std::optional<testing::ReservedPort> port_;
  std::optional<testing::Process> process_;
};

Result<std::vector<Line>> idle(Environment& environment) {
  Result<testing::ControlPlane*> plane = environment.fresh_control_plane();
  if (!plane) return pass(plane);
  Installed berth(**plane);
  if (Result<> open = berth.open(); !open) return pass(open);
  if (Result<> started = berth.start(); !started) return pass(started);
  if (Result<> installed = berth.until_installed(); !installed) return pass(installed);
  const Result<Usage> none = berth.watch();
  if (!none) return fail(none.error());
  if (Result<> filled = berth.fill(); !filled) return pass(filled);
  // Another one has what it needs, and not what it took to make them.
  berth.stop();
  if (Result<> started = berth.start(); !started) return pass(started);
  const Result<Usage> many = berth.watch();
  if (!many) return fail(many.error());
  const std::string what = fmt::format(
      "of an installed controller with {} Listeners in sync, "
      "beside the same with none",
      kListeners);
  return std::vector<Line>{
      {"idle-memory", "resident memory " + what, many->megabytes, none->megabytes, "MB", "lower"},
      {"idle-cpu", "processor time for each second " + what, many->cpu_ms_per_second,
       none->cpu_ms_per_second, "ms", "lower"}};
}

}  // namespace

Bench idle_bench() { return {{"idle-memory", "idle-cpu"}, idle}; }

}  // namespace berth::bench
