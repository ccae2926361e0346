#include "installed_berth.h"

#include <fmt/format.h>

#include <cstdlib>

#include "support/eventually.h"
#include "wire/value.h"

namespace berth {
namespace {

using namespace std::chrono_literals;
using testing::CommandResult;
using testing::RealNodes;

constexpr auto kProgramTimeout = 300s;
const std::string kBindings = R"({.metadata.annotations.poolbindings\.portpool)"
                              R"(\.networkextension\.bkbcs\.tencent\.com})";

CommandResult run_program(const std::filesystem::path& program, std::vector<std::string> args,
                          std::string_view input = {}) {
  const char* path = std::getenv("PATH");
  return testing::run({program, std::move(args), {fmt::format("PATH={}", path ? path : "")}}, input,
                      kProgramTimeout);
}

// The image of this build.
RealNodes::Outcome load_berth(RealNodes& nodes, std::vector<std::string> flags = {}) {
  const std::filesystem::path archive = nodes.directory() / "berth.tar";
  flags.insert(flags.begin(), {"--binary", BERTH_PROGRAM, "--archive", archive.string()});
  const CommandResult packed = run_program(BERTH_IMAGE_TOOL, std::move(flags));
  if (!packed.ok()) return std::unexpected(packed.out + packed.err);
  return nodes.load_image(archive);
}

std::string indented(const std::string& lines, std::string_view by) {
  std::string out;
  for (std::size_t at = 0; at < lines.size();) {
    const std::size_t end = std::min(lines.find('\n', at), lines.size());
    out += fmt::format("{}{}\n", by, std::string_view(lines).substr(at, end - at));
    at = end + 1;
  }
  return out;
}

std::string said(edge::testing::Client client) {
  if (!client.send("who\n")) return "";
  std::string name = client.read_some();
  if (!name.empty() && name.back() == '\n') name.pop_back();
  return name;
}

}  // namespace

std::string pool_yaml() {
  return R"(apiVersion: v1
kind: Namespace
metadata:
  name: games
  labels: {bcs-ingress-controller-inject: "true"}
---
apiVersion: networkextension.bkbcs.tencent.com/v1
kind: PortPool
metadata: {name: rooms, namespace: games}
spec:
  poolItems:
  - itemName: item1
    loadBalancerIDs: ["lb-rooms"]
    startPort: 31000
    endPort: 31100
)";
}

std::string guest_yaml(const std::string& name) {
  return fmt::format(R"(apiVersion: v1
kind: Pod
metadata:
  name: {}
  namespace: games
  labels: {{app: guest}}
  annotations:
    portpools.networkextension.bkbcs.tencent.com: "true"
    ports.portpools.networkextension.bkbcs.tencent.com: rooms TCP 8000
spec:
  automountServiceAccountToken: false
  containers:
  - {{name: room, image: "{}", imagePullPolicy: Never, ports: [{{containerPort: 8000}}]}}
)",
                     name, kRoomImage);
}

std::string rooms_yaml(const RoomsOf& rooms) {
  return fmt::format(
      R"(apiVersion: apps/v1
kind: {0}
metadata: {{name: {1}, namespace: games}}
spec:
  replicas: {2}
  {3}
  selector: {{matchLabels: {{app: {1}}}}}
  template:
    metadata:
      labels: {{app: {1}}}
      annotations:
        portpools.networkextension.bkbcs.tencent.com: "true"
        ports.portpools.networkextension.bkbcs.tencent.com: {4}
        readinessgate.portpools.networkextension.bkbcs.tencent.com: "true"
{5}    spec:
      automountServiceAccountToken: false
      terminationGracePeriodSeconds: 60
{6}      containers:
      - name: room
        image: {7}
        imagePullPolicy: Never
        readinessProbe: {{tcpSocket: {{port: 8000}}, periodSeconds: 1}}
        ports:
        - {{containerPort: 8000, protocol: TCP}}
        - {{containerPort: 8000, protocol: UDP}}
        volumeMounts: [{{name: podinfo, mountPath: /etc/podinfo}}]
{8}      volumes:
      - name: podinfo
        downwardAPI:
          items: [{{path: annotations, fieldRef: {{fieldPath: metadata.annotations}}}}]
)",
      rooms.kind, rooms.name, rooms.replicas,
      rooms.kind == "StatefulSet" ? "serviceName: rooms\n  podManagementPolicy: Parallel"
                                  : "progressDeadlineSeconds: 300",
      rooms.ports, indented(rooms.annotations, "        "), indented(rooms.pod, "      "),
      kRoomImage, indented(rooms.container, "        "));
}

std::expected<std::unique_ptr<InstalledBerth>, std::string> InstalledBerth::start(int nodes) {
  auto berth = std::unique_ptr<InstalledBerth>(new InstalledBerth);
  auto started = RealNodes::start({.nodes = nodes});
  if (!started) return std::unexpected(started.error());
  berth->nodes_ = std::move(*started);
  if (auto done = load_berth(*berth->nodes_); !done) return std::unexpected(done.error());
  if (auto done = berth->nodes_->add_address(1, std::string(kEdge)); !done)
    return std::unexpected(done.error());
  for (testing::Player*& player : berth->players_) {
    auto added = berth->nodes_->add_player();
    if (!added) return std::unexpected(added.error());
    player = *added;
  }
  return berth;
}

std::string InstalledBerth::load_as(const std::string& image) {
  const auto done = load_berth(*nodes_, {"--name", image});
  return done ? "" : done.error();
}

CommandResult InstalledBerth::berth(std::vector<std::string> args) const {
  return run_program(BERTH_PROGRAM, std::move(args));
}

std::string InstalledBerth::install(std::vector<std::string> flags) {
  flags.insert(flags.begin(), "manifests");
  const CommandResult printed = berth(flags);
  if (!printed.ok()) return printed.err;
  const CommandResult applied = kubectl({"apply", "-f", "-"}, printed.out);
  if (!applied.ok()) return applied.err;
  const CommandResult rolled =
      kubectl({"rollout", "status", "deployment/berth", "-n", "berth-system", "--timeout=120s"});
  return rolled.ok() ? "" : rolled.err + story();
}

std::string InstalledBerth::apply(const std::string& yaml) {
  CommandResult last;
  const bool taken = testing::eventually(kPatience, [&] {
    last = kubectl({"apply", "-f", "-"}, yaml);
    return last.ok();
  });
  return taken ? "" : last.err + story();
}

std::string InstalledBerth::field(const std::string& object, const std::string& path) const {
  return kubectl({"get", object, "-n", "games", "-o", "jsonpath=" + path}).out;
}

std::string InstalledBerth::uid_of(const std::string& pod) const {
  return field("pod/" + pod, "{.metadata.uid}");
}

std::vector<Door> InstalledBerth::doors_of(const std::string& pod) const {
  const std::string told =
      field("pod/" + pod, R"({.status.conditions[?(@.type=="Ready")].status} )" + kBindings);
  if (!told.starts_with("True ")) return {};
  const auto json = wire::parse_json(std::string_view(told).substr(5));
  if (!json || !json->is_array()) return {};
  std::vector<Door> doors;
  for (const wire::Value& binding : json->as_array()) {
    const std::string_view ip = wire::string_at(binding, "/poolItemLoadBalancers/0/ips/0");
    const auto port = wire::int_at(binding, "/startPort");
    if (!ip.empty() && port) doors.push_back({std::string(ip), static_cast<model::Port>(*port)});
  }
  return doors;
}

Door InstalledBerth::door_of(const std::string& pod) const {
  std::vector<Door> doors;
  const bool there =
      testing::eventually(kPatience, [&] { return !(doors = doors_of(pod)).empty(); });
  if (there) return doors.front();
  fmt::print(stderr, "{} has no address, or is not Ready{}\n", pod, story());
  return {};
}

edge::testing::Client InstalledBerth::connect(const Door& door) const {
  return player().inside([&] { return edge::testing::Client::tcp({door.ip, door.port}); });
}

std::string InstalledBerth::who_is_at(const Door& door) const {
  return door.ip.empty() ? "" : said(connect(door));
}

std::string InstalledBerth::who_is_at_over_udp(const Door& door) const {
  if (door.ip.empty()) return "";
  return said(player().inside([&] { return edge::testing::Client::udp({door.ip, door.port}); }));
}

bool InstalledBerth::occupy(const std::string& port) {
  return nodes_->on_node(1, {"busybox", "httpd", "-p", port}).ok();
}

bool InstalledBerth::vacate(const std::string& port) {
  return nodes_->on_node(1, {"pkill", "-f", "httpd -p " + port}).ok();
}

std::string InstalledBerth::log() const {
  std::string out;
  for (const char* more : {"--previous=true", "--previous=false"}) {
    out += kubectl({"logs", "-n", "berth-system", "-l", "app.kubernetes.io/name=berth", "--tail=-1",
                    "--prefix", more})
               .out;
  }
  return out;
}

std::string InstalledBerth::story() const {
  std::string out = "\n";
  for (std::vector<std::string> what : std::vector<std::vector<std::string>>{
           {"get", "pods", "-A", "-o", "wide"},
           {"get", "events", "-A", "--sort-by=.lastTimestamp"},
           {"get", "portpools,listeners,loadbalancers.berth.dev,portbindings", "-A"}}) {
    out += kubectl(std::move(what)).out + "\n";
  }
  const std::string all = log();
  return out + all.substr(all.size() - std::min<std::size_t>(all.size(), 8000)) +
         nodes_->logs(1, 20);
}

}  // namespace berth
