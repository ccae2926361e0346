// The edge load balancer beside HAProxy (TCP) and nginx (UDP): each in a process of its own, with
// the same threads, players and rooms, in turns.

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "base/file.h"
#include "base/threads.h"
#include "bench.h"
#include "edge/driver.h"
#include "edge/echo_server.h"
#include "edge_load.h"
#include "support/eventually.h"
#include "support/scratch_dir.h"
#include "support/subprocess.h"

namespace berth::bench {
namespace {

constexpr int kRounds = 5;
constexpr std::chrono::milliseconds kSpan{1000};  // of a round, after its warm-up
constexpr std::chrono::seconds kStartTimeout{10};
constexpr model::Port kRoomPort = 29'100;
constexpr std::size_t kThreads = 2;

const char* const kHaproxy = "/usr/sbin/haproxy";
const char* const kNginx = "/usr/sbin/nginx";
const char* const kNginxStream = "/usr/lib/nginx/modules/ngx_stream_module.so";

Result<> need(const char* file) {
  if (::access(file, R_OK) == 0) return {};
  return fail(error_of(Code::not_found, "{} is not there", file)
                  .with_hint("tools/setup bench installs what benches compare with"));
}

// Balancers that run, each with its door.
class Balancers {
 public:
  Balancers(const Environment& environment, testing::ScratchDir dir)
      : own_program_(environment.own_program()), dir_(std::move(dir)) {}

  Result<model::Target> edge(Traffic traffic) {
    return start(own_program_, {"--child", "edge", "--resource",
                                traffic == Traffic::datagrams ? "udp" : "tcp", "--expect"});
  }

  Result<model::Target> haproxy(bool tuned) {
    if (Result<> there = need(kHaproxy); !there) return pass(there);
    // Pipes count too: with more connections it would not start under 20,000 file descriptors.
    std::string config = "global\n  maxconn 4000\n";
    if (tuned) config += fmt::format("  nbthread {}\n  tune.bufsize 262144\n", kThreads);
    config += fmt::format(
        "defaults\n  mode tcp\n  timeout connect 5s\n  timeout client 60s\n  timeout server 60s\n"
        "listen rooms\n  bind 127.0.0.1:{}\n  balance roundrobin\n{}",
        next_port_, tuned ? "  option splice-auto\n" : "");
    for (const model::Target& room : rooms_at(kRoomPort))
      config += fmt::format("  server s{0} {0}:{1}\n", room.ip, room.port);
    return start(kHaproxy, {"-f", write(config)});
  }

  Result<model::Target> nginx() {
    for (const char* file : {kNginx, kNginxStream})
      if (Result<> there = need(file); !there) return pass(there);
    std::string config = fmt::format(
        "load_module {};\nworker_processes {};\ndaemon off;\npid {}/nginx.pid;\n"
        "error_log {}/nginx.log;\nevents {{ worker_connections 8192; }}\n"
        "stream {{\n  upstream rooms {{\n",
        kNginxStream, kThreads, dir_.path().string(), dir_.path().string());
    for (const model::Target& room : rooms_at(kRoomPort))
      config += fmt::format("    server {}:{};\n", room.ip, room.port);
    config += fmt::format(
        "  }}\n  server {{ listen 127.0.0.1:{} udp reuseport; proxy_pass rooms; proxy_timeout 60s; "
        "}}\n}}\n",
        next_port_);
    return start(kNginx, {"-c", write(config)});
  }

 private:
  std::string write(const std::string& config) {
    const auto path = dir_.path() / fmt::format("{}.conf", next_port_);
    (void)write_file(path.string(), config, 0644);
    return path.string();
  }

  Result<model::Target> start(const std::filesystem::path& program, std::vector<std::string> args) {
    const model::Target door{"127.0.0.1", next_port_++};
    if (args.back() == "--expect") args.push_back(fmt::format("{}", door.port));
    auto process = testing::Process::spawn({program, args, {}}, dir_.path() / "balancers.log");
    if (!process) return fail(Code::internal, "{}", process.error());
    processes_.push_back(std::move(*process));
    return door;
  }

  const std::filesystem::path own_program_;
  testing::ScratchDir dir_;
  model::Port next_port_ = 29'200;
  std::vector<testing::Process> processes_;
};

Result<> wait_for(Traffic traffic, const model::Target& door) {
  const bool there = testing::eventually(kStartTimeout, [&] {
    constexpr int kTryMs = 200;
    if (traffic == Traffic::datagrams) return edge::ask_over_udp(door, "x", kTryMs).has_value();
    const auto answer = edge::ask_over_tcp(door, "x", kTryMs);
    return answer || answer.error().code == Code::timeout;  // a stream does not end
  });
  if (there) return {};
  return fail(Code::timeout, "{} did not open", model::to_string(door));
}

// The best of a few rounds each, in turns: what else the machine does hits both.
Result<std::pair<double, double>> compare(Traffic traffic, const model::Target& ours,
                                          const model::Target& other) {
  for (const model::Target& door : {ours, other})
    if (Result<> there = wait_for(traffic, door); !there) return pass(there);
  std::pair<double, double> best{};
  for (int round = 0; round < kRounds; ++round) {
    Result<double> mine = measure(traffic, ours, kSpan);
    if (!mine) return pass(mine);
    Result<double> theirs = measure(traffic, other, kSpan);
    if (!theirs) return pass(theirs);
    best = {std::max(best.first, *mine), std::max(best.second, *theirs)};
  }
  return best;
}

struct Race {
  const char* name;
  const char* what;
  const char* unit;
  double scale;
  Traffic traffic;
  Result<model::Target> (*other)(Balancers&);
};

Result<std::vector<Line>> run_race(Environment& environment, const Race& race) {
  auto dir = testing::ScratchDir::create("berth-bench-edge");
  if (!dir) return fail(Code::internal, "{}", dir.error());
  Balancers balancers(environment, std::move(*dir));
  Result<std::unique_ptr<Running>> rooms = open_rooms(race.traffic, kRoomPort);
  if (!rooms) return pass(rooms);
  Result<model::Target> ours = balancers.edge(race.traffic);
  if (!ours) return pass(ours);
  Result<model::Target> other = race.other(balancers);
  if (!other) return pass(other);
  Result<std::pair<double, double>> both = compare(race.traffic, *ours, *other);
  if (!both) return pass(both);
  return std::vector<Line>{{race.name, race.what, both->first / race.scale,
                            both->second / race.scale, race.unit, "higher"}};
}

Result<model::Target> tuned_haproxy(Balancers& balancers) { return balancers.haproxy(true); }
Result<model::Target> plain_haproxy(Balancers& balancers) { return balancers.haproxy(false); }
Result<model::Target> nginx(Balancers& balancers) { return balancers.nginx(); }

}  // namespace

std::vector<Bench> edge_benches() {
  static constexpr std::array kRaces{
      Race{"edge-tcp-throughput",
           "64 streams to 16 rooms, beside HAProxy with the same threads and buffers, splicing",
           "MiB/s", 1 << 20, Traffic::stream, tuned_haproxy},
      Race{"edge-tcp-throughput-default", "the same, beside HAProxy as it comes", "MiB/s", 1 << 20,
           Traffic::stream, plain_haproxy},
      Race{"edge-tcp-connections",
           "connect, ask, answer, close; 128 at a time, beside HAProxy with the same threads",
           "conn/s", 1, Traffic::calls, tuned_haproxy},
      Race{"edge-udp-throughput",
           "200-byte datagrams there and back, 64 clients, beside nginx with the same threads",
           "dgram/s", 1, Traffic::datagrams, nginx}};
  std::vector<Bench> out;
  for (const Race& race : kRaces) {
    out.push_back(
        {{race.name}, [&race](Environment& environment) { return run_race(environment, race); }});
  }
  return out;
}

Result<> serve_edge(const std::string& protocol, int port) {
  sigset_t ends{};
  sigemptyset(&ends);
  sigaddset(&ends, SIGTERM);
  // Before the threads: they inherit it.
  pthread_sigmask(SIG_BLOCK, &ends, nullptr);

  ThreadTasks tasks;
  const Context context{.tasks = tasks};
  const model::LoadBalancerRef lb{.id = "bench"};
  auto driver = edge::EdgeDriver::start({.addresses = edge::fixed_plan({{lb.id, {"127.0.0.1"}}}),
                                         .threads = kThreads,
                                         .loopback_targets = true});
  if (!driver) return pass(driver);
  const auto at = static_cast<model::Port>(port);
  const model::ListenerSpec spec = model::plain_listener(
      protocol == "udp" ? model::Protocol::udp : model::Protocol::tcp, {at, at}, "rooms");
  auto id = (*driver)->create(context, lb, {&spec, 1}).front();
  if (!id) return pass(id);
  lb::TargetChange change{.rule = {*id, {}}};
  for (const model::Target& room : rooms_at(kRoomPort)) change.add.push_back({room});
  if (auto changed = (*driver)->change_targets(context, lb, {&change, 1}).front(); !changed)
    return changed;
  int signal = 0;
  sigwait(&ends, &signal);
  return {};
}

}  // namespace berth::bench
