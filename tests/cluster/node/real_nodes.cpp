#include "real_nodes.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

#include "support/eventually.h"
#include "support/own_network.h"

namespace berth::testing {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;
using Outcome = ControlPlane::Outcome;

// Also the name of its cgroups: the script knows by it whose they are.
constexpr std::string_view kDirPrefix = "berth-nodes";
constexpr int kBits = 16;
constexpr std::string_view kGateway = "10.62.0.1";
constexpr std::string_view kAllPods = "10.64.0.0/16";
// Nobody serves DNS there.
constexpr std::string_view kDns = "10.96.0.10";
constexpr std::string_view kProxyUser = "system:kube-proxy";
constexpr int kMaxNodes = 200;
constexpr int kExitSkip = 77;
// Bounds one question to the API server, so that a node that ended meanwhile is noticed.
constexpr std::string_view kOneWait = "--timeout=2s";

std::string node_programs() {
  const char* dir = std::getenv("BERTH_NODE_DIR");
  return dir == nullptr ? std::string() : std::string(dir);
}

// Nothing of ours but where things are.
std::vector<std::string> environment() {
  const char* temporary = std::getenv("TMPDIR");
  const char* home = std::getenv("HOME");
  std::vector<std::string> out{
      "BERTH_NODE_DIR=" + node_programs(), "HOME=" + std::string(home == nullptr ? "/" : home),
      "PATH=" + node_programs() +
          "/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"};
  if (temporary != nullptr) out.push_back("TMPDIR=" + std::string(temporary));
  return out;
}

CommandResult run_script(std::vector<std::string> args, std::string_view input = {},
                         milliseconds timeout = kNodeCommandTimeout) {
  return run({BERTH_NODE_SCRIPT, std::move(args), environment()}, input, timeout);
}

Outcome outcome(std::string_view what, const CommandResult& result) {
  if (result.ok()) return {};
  return std::unexpected(fmt::format("{}: {}{}", what, result.out, result.err));
}

ControlPlaneUser node_user(int node) {
  return {"system:node:" + RealNodes::name(node), "system:nodes"};
}

// A namespace lives as long as something is open in it, or a process is in it.
Fd make_network() {
  Fd network;
  std::thread([&] {
    if (::unshare(CLONE_NEWNET) == 0)
      network = Fd(::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC));
  }).join();
  return network;
}

std::string tail(const fs::path& path, std::size_t lines) {
  std::ifstream in(path);
  std::deque<std::string> kept;
  for (std::string line; std::getline(in, line);) {
    kept.push_back(std::move(line));
    if (kept.size() > lines) kept.pop_front();
  }
  std::string text;
  for (const auto& line : kept) text += line + '\n';
  return text;
}

}  // namespace

// ---- players

std::string Player::path() const {
  return fmt::format("/proc/{}/fd/{}", ::getpid(), network_.get());
}

void Player::enter() const {
  if (::setns(network_.get(), CLONE_NEWNET) != 0) {
    fmt::print(stderr, "a player cannot enter its network: {}\n", std::strerror(errno));
    std::abort();
  }
}

CommandResult Player::run(std::vector<std::string> command, std::string_view input,
                          milliseconds timeout) const {
  std::vector<std::string> args{"nsenter", "--net=" + path(), "--"};
  args.insert(args.end(), command.begin(), command.end());
  return testing::run({"/usr/bin/env", std::move(args), environment()}, input, timeout);
}

std::string Player::shell_wrapper() const {
  return fmt::format("#!/bin/sh\nPATH=$PATH:{}/bin\nexec nsenter --net={} -- \"$@\"\n",
                     node_programs(), path());
}

std::expected<Player*, std::string> RealNodes::add_player() {
  const auto number = players_.size() + 1;
  Player player(make_network(), fmt::format("10.62.1.{}", number));
  if (!player.network_.valid()) return std::unexpected("no network for a player");
  const auto joined =
      run_script({"join", player.path(), fmt::format("v-player-{}", number),
                  fmt::format("{}/{}", player.address(), kBits), std::string(kGateway)});
  if (auto done = outcome("a player cannot join", joined); !done)
    return std::unexpected(done.error());
  players_.push_back(std::move(player));
  return &players_.back();
}

// ---- the cluster

std::string RealNodes::name(int node) { return fmt::format("node-{}", node); }
std::string RealNodes::address(int node) { return fmt::format("10.62.0.{}", 10 + node); }
std::string RealNodes::pod_cidr(int node) { return fmt::format("10.64.{}.0/24", node); }

fs::path RealNodes::folder(int node) const { return dir_.path() / name(node); }

std::optional<std::string> RealNodes::unavailable() {
  if (auto reason = ControlPlane::unavailable()) return reason;
  const auto checked = run_script({"check"});
  if (checked.ok()) return std::nullopt;
  std::string line = checked.exit_code == kExitSkip ? checked.out : checked.err;
  while (line.ends_with('\n')) line.pop_back();
  return line;
}

std::expected<std::unique_ptr<RealNodes>, std::string> RealNodes::start(RealNodesOptions options) {
  if (auto reason = unavailable()) return std::unexpected(*reason);
  if (options.nodes < 1 || options.nodes > kMaxNodes)
    return std::unexpected(fmt::format("{} nodes", options.nodes));
  const auto began = std::chrono::steady_clock::now();
  auto dir = ScratchDir::create(kDirPrefix);
  if (!dir) return std::unexpected(dir.error());
  // Those of clusters whose folders ScratchDir has just removed, or found removed.
  (void)run_script({"sweep", "--all", std::string(kDirPrefix)});
  std::unique_ptr<RealNodes> out(new RealNodes(std::move(options), std::move(*dir)));
  if (auto up = out->bring_up(); !up) return std::unexpected(up.error());
  out->start_duration_ =
      std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - began);
  return out;
}

RealNodes::RealNodes(RealNodesOptions options, ScratchDir dir)
    : options_(std::move(options)),
      dir_(std::move(dir)),
      nodes_(static_cast<std::size_t>(options_.nodes)) {}

RealNodes::~RealNodes() {
  for (auto& node : nodes_) {
    if (node) node->stop(milliseconds(0));
  }
  for (int node = 1; node <= count(); ++node) kill_node(node);
  (void)run_script({"sweep", id()});
}

Outcome RealNodes::bring_up() {
  if (auto reason = enter_own_network(); !reason.empty()) return std::unexpected(reason);
  const auto bridged = run_script({"network", fmt::format("{}/{}", kGateway, kBits)});
  if (auto done = outcome("no network for nodes", bridged); !done) return done;
  if (auto done = start_plane(); !done) return done;
  for (int node = 1; node <= count(); ++node) {
    if (auto done = launch(node); !done) return done;
  }
  if (auto done = wait_until_ready(); !done) return done;
  for (const fs::path& image : options_.images) {
    if (auto done = load_image(image); !done) return done;
  }
  return {};
}

Outcome RealNodes::start_plane() {
  ControlPlaneOptions options{.with_workloads = true,
                              .with_kwok = false,
                              .address = std::string(kGateway),
                              .users = {{std::string(kProxyUser)}},
                              .step_timeout = options_.step_timeout};
  for (int node = 1; node <= count(); ++node) options.users.push_back(node_user(node));
  options.api_server_args = {
      "--enable-admission-plugins=NodeRestriction",
      // The addresses of Pods instead of Services', for which no kube-proxy runs here.
      "--enable-aggregator-routing=true", "--kubelet-preferred-address-types=InternalIP"};
  options.api_server_args.insert(options.api_server_args.end(), options_.api_server_args.begin(),
                                 options_.api_server_args.end());
  options.controller_manager_args = {
      fmt::format("--node-monitor-grace-period={}s", options_.silence.count()),
      "--node-monitor-period=1s"};
  auto plane = ControlPlane::start(std::move(options));
  if (!plane) return std::unexpected(plane.error());
  plane_ = std::move(*plane);
  return {};
}

std::string RealNodes::settings(int node) const {
  std::string routes;
  for (int other = 1; other <= count(); ++other) {
    if (other != node) routes += fmt::format("{} {}\n", pod_cidr(other), address(other));
  }
  // kubelet renews its lease after a quarter of that time.
  const auto lease = std::max<long>(options_.silence.count() / 2, 4);
  std::string text;
  const auto set = [&](std::string_view key, std::string_view value) {
    text += fmt::format("NODE_{}='{}'\n", key, value);
  };
  set("NAME", name(node));
  set("ADDRESS", address(node));
  set("BITS", std::to_string(kBits));
  set("GATEWAY", kGateway);
  set("PODS", pod_cidr(node));
  set("ALL_PODS", kAllPods);
  set("ROUTES", routes);
  set("DNS", kDns);
  set("CGROUP", id() + "/" + name(node));
  set("KUBECONFIG", plane_->kubeconfig_of(node_user(node)).string());
  set("PROXY_KUBECONFIG", plane_->kubeconfig_of({std::string(kProxyUser)}).string());
  set("LEASE_SECONDS", std::to_string(lease));
  return text;
}

Outcome RealNodes::launch(int node) {
  std::error_code error;
  fs::create_directories(folder(node), error);
  std::ofstream file(folder(node) / "settings");
  file << settings(node);
  file.close();
  if (file.fail()) return std::unexpected("cannot write to " + folder(node).string());
  auto process = Process::spawn({BERTH_NODE_SCRIPT, {"start", folder(node)}, environment()},
                                folder(node) / "node.log");
  if (!process) return std::unexpected(process.error());
  nodes_[index(node)] = std::move(*process);
  return {};
}

Outcome RealNodes::wait_until_ready() {
  std::string trouble = "took too long";
  const bool ready = eventually(options_.step_timeout, [&] {
    for (int node = 1; node <= count(); ++node) {
      if (nodes_[index(node)]->running()) continue;
      trouble = name(node) + " ended";
      return true;
    }
    std::vector<std::string> wait{"wait", "--for=condition=Ready", std::string(kOneWait)};
    for (int node = 1; node <= count(); ++node) wait.push_back("node/" + name(node));
    const auto waited = kubectl(std::move(wait));
    if (waited.ok()) trouble.clear();
    return waited.ok();
  });
  if (ready && trouble.empty()) return {};
  for (int node = 1; node <= count(); ++node) trouble += "\n" + logs(node);
  return std::unexpected(trouble);
}

// Through the API server, which asks the kubelet itself.
Outcome RealNodes::wait_for_kubelet(int node) {
  const std::string path = fmt::format("/api/v1/nodes/{}/proxy/healthz", name(node));
  const bool answers = eventually(options_.step_timeout, [&] {
    return !nodes_[index(node)]->running() || kubectl({"get", "--raw", path}).ok();
  });
  if (answers && nodes_[index(node)]->running()) return {};
  return std::unexpected(name(node) + ": kubelet does not answer\n" + logs(node));
}

// Through standard input: what the machine sees at that path the node may not.
Outcome RealNodes::load_image(const fs::path& archive) {
  std::ifstream in(archive, std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (bytes.empty()) return std::unexpected("cannot read " + archive.string());
  for (int node = 1; node <= count(); ++node) {
    if (!nodes_[index(node)]) continue;
    const auto loaded =
        on_node(node, {"ctr", "--namespace=k8s.io", "images", "import", "-"}, bytes);
    if (auto done = outcome(archive.string() + " is not loaded", loaded); !done) return done;
  }
  return {};
}

std::vector<std::string> RealNodes::images(int node) const {
  constexpr std::string_view kImplied = "docker.io/library/";
  std::vector<std::string> names;
  std::istringstream lines(
      on_node(node, {"ctr", "--namespace=k8s.io", "images", "list", "-q"}).out);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("sha256:")) continue;
    names.push_back(line.starts_with(kImplied) ? line.substr(kImplied.size()) : line);
  }
  return names;
}

Outcome RealNodes::add_address(int node, const std::string& address) {
  return outcome(address, on_node(node, {"ip", "address", "add",
                                         fmt::format("{}/{}", address, kBits), "dev", "eth0"}));
}

CommandResult RealNodes::on_node(int node, std::vector<std::string> command, std::string_view input,
                                 milliseconds timeout) const {
  command.insert(command.begin(), {"enter", folder(node).string()});
  return run_script(std::move(command), input, timeout);
}

Outcome RealNodes::stop_kubelet(int node) {
  return outcome("kubelet runs on", run_script({"kubelet", folder(node).string(), "stop"}));
}

Outcome RealNodes::start_kubelet(int node) {
  const auto started = run_script({"kubelet", folder(node).string(), "start"});
  if (auto done = outcome("kubelet does not start", started); !done) return done;
  return wait_for_kubelet(node);
}

void RealNodes::kill_node(int node) {
  auto& process = nodes_[index(node)];
  if (!process) return;
  process->stop(milliseconds(0));
  process.reset();
  (void)run_script({"gone", folder(node).string()});
}

Outcome RealNodes::start_node(int node) {
  if (nodes_[index(node)]) return std::unexpected(name(node) + " runs");
  if (auto done = launch(node); !done) return done;
  return wait_for_kubelet(node);
}

std::string RealNodes::logs(int node, std::size_t lines) const {
  std::string text;
  for (const auto* log : {"node", "containerd", "kubelet", "kube-proxy"}) {
    text += fmt::format("--- end of {}'s {}.log\n{}", name(node), log,
                        tail(folder(node) / (std::string(log) + ".log"), lines));
  }
  return text;
}

}  // namespace berth::testing
