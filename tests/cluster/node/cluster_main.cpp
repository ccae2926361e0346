// berth-cluster: a control plane and real nodes for people, until SIGINT or SIGTERM. `make cluster`
// starts it.

#include <fmt/format.h>

#include <charconv>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>

#include "forwarder.h"
#include "real_nodes.h"

namespace {

namespace fs = std::filesystem;
using berth::testing::Forwarder;
using berth::testing::Player;
using berth::testing::RealNodes;
using berth::testing::RealNodesOptions;

constexpr int kExitUsage = 2;
constexpr int kExitSkip = 77;
// An address of node-1 that nothing uses before Berth does.
constexpr std::string_view kEdgeAddress = "10.62.2.1";
constexpr std::string_view kUsage = R"(usage: berth-cluster [--nodes N] [--image ARCHIVE]...
  --nodes N        real nodes (default 2): kubelet, containerd and kube-proxy on each
  --image ARCHIVE  a docker archive to load into every node, beside pause, busybox and room
Starts a Kubernetes cluster in network namespaces of its own, prints what to type next, and runs until
SIGINT or SIGTERM; then nothing of it is left. It needs root. BERTH_CONTROLPLANE_DIR and BERTH_NODE_DIR
name what tests/cluster/controlplane/build and tests/cluster/node/build printed; `make cluster` sees to
both.

example:
  make cluster                            # in one terminal
  source /dev/shm/berth-nodes.XXXXXX/env  # in another one; the first prints the path
  kubectl run web --image=busybox:1 --command -- httpd -f -p 8000
  kubectl get pod web -o wide
  player curl http://10.64.1.2:8000       # the Pod's address, from outside of the cluster
)";

std::optional<int> parse_count(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1) return std::nullopt;
  return value;
}

std::optional<RealNodesOptions> parse(int argc, char** argv) {
  RealNodesOptions options{.nodes = 2};
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    if (i + 1 == argc) return std::nullopt;
    const std::string_view value = argv[++i];
    if (flag == "--image") {
      options.images.emplace_back(value);
    } else if (const auto count = parse_count(value); flag == "--nodes" && count) {
      options.nodes = *count;
    } else {
      return std::nullopt;
    }
  }
  return options;
}

bool write_script(const fs::path& path, std::string_view text) {
  std::ofstream file(path);
  file << text;
  file.close();
  std::error_code error;
  fs::permissions(path, fs::perms::owner_all, error);
  return !file.fail() && !error;
}

// What a shell needs to play: kubectl of the cluster's version, and a way into its network.
bool write_tools(RealNodes& cluster, const Player& player, const fs::path& kubeconfig) {
  const fs::path bin = cluster.directory() / "bin";
  std::error_code error;
  fs::create_directories(bin, error);
  fs::create_symlink(cluster.plane().program("kubectl"), bin / "kubectl", error);
  return !error && write_script(bin / "player", player.shell_wrapper()) &&
         write_script(cluster.directory() / "env",
                      fmt::format("export KUBECONFIG={} PATH={}:$PATH\n", kubeconfig.string(),
                                  bin.string()));
}

// An image of Berth among those of the nodes, by its name.
std::optional<std::string> berth_image(const std::vector<std::string>& images) {
  for (const auto& image : images) {
    const auto slash = image.rfind('/');
    const std::string last = slash == std::string::npos ? image : image.substr(slash + 1);
    if (last.starts_with("berth:")) return image;
  }
  return std::nullopt;
}

void greet(const RealNodes& cluster, const fs::path& kubeconfig) {
  const auto images = cluster.images(1);
  fmt::print(R"(
A control plane and {} real node(s) are up after {:.1f} s.
Images on them: {}. KUBECONFIG: {}

In another terminal, as root:

    source {}/env
    kubectl get nodes -o wide
    kubectl run web --image=busybox:1 --command -- httpd -f -p 8000
    kubectl get pod web -o wide            # its address
    player curl http://ADDRESS:8000        # from outside of the cluster; a 404 is the Pod's own
)",
             cluster.count(), static_cast<double>(cluster.start_duration().count()) / 1000,
             fmt::join(images, ", "), kubeconfig.string(), cluster.directory().string());
  if (const auto image = berth_image(images)) {
    fmt::print(R"(
    build/berth manifests --image {} --edge-address play={} --node node-1 | kubectl apply -f -
    kubectl -n berth-system rollout status deployment/berth
    kubectl apply -f examples/rooms.yaml   # two rooms that say back what they hear
    kubectl -n play rollout status statefulset/room
    player busybox nc {} 31000     # talk to one
)",
               *image, kEdgeAddress, kEdgeAddress);
  } else {
    fmt::print(
        "\n`make image` makes an image of Berth, which the next `make cluster` brings along.\n");
  }
  fmt::print("\nCtrl-C stops the cluster and leaves nothing behind.\n");
  std::fflush(stdout);
}

int fail(std::string_view text) {
  fmt::print(stderr, "{}\n", text);
  return 1;
}

int run(const RealNodesOptions& options, const sigset_t& signals) {
  // In the machine's own network, before the cluster has one of its own.
  auto forwarder = Forwarder::listen();
  if (!forwarder) return fail(forwarder.error());
  auto started = RealNodes::start(options);
  if (!started) return fail(started.error());
  RealNodes& cluster = **started;
  (*forwarder)->start("127.0.0.1", cluster.plane().port());
  const fs::path kubeconfig = cluster.directory() / "kubeconfig";
  // The server's certificate holds this name, and not 127.0.0.1.
  const std::string url = fmt::format("https://localhost:{}", (*forwarder)->port());
  if (auto written = cluster.plane().write_kubeconfig(kubeconfig, url); !written)
    return fail(written.error());
  const auto player = cluster.add_player();
  if (!player) return fail(player.error());
  if (!write_tools(cluster, **player, kubeconfig)) return fail("cannot write the tools");
  if (auto given = cluster.add_address(1, std::string(kEdgeAddress)); !given)
    return fail(given.error());
  greet(cluster, kubeconfig);
  int signal = 0;
  sigwait(&signals, &signal);
  fmt::print("stopping\n");
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && (std::string_view(argv[1]) == "--help" || std::string_view(argv[1]) == "-h")) {
    fmt::print("{}", kUsage);
    return 0;
  }
  const auto options = parse(argc, argv);
  if (!options) {
    fmt::print(stderr, "{}", kUsage);
    return kExitUsage;
  }
  if (const auto reason = RealNodes::unavailable()) {
    fmt::print(stderr, "{}\n", *reason);
    return kExitSkip;
  }
  // Blocked before anything is started: a signal during the start waits until all can be undone.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  sigprocmask(SIG_BLOCK, &signals, nullptr);
  return run(*options, signals);
}
