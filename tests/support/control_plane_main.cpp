// berth-controlplane: starts one control plane, prints where its kubeconfig is, and keeps it until
// SIGINT or SIGTERM. For benches, and for looking around by hand.

#include <charconv>
#include <csignal>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>

#include "support/control_plane.h"

namespace {

using berth::testing::ControlPlane;
using berth::testing::ControlPlaneOptions;

constexpr int kExitUsage = 2;
constexpr int kExitSkip = 77;
constexpr std::string_view kUsage =
    "usage: berth-controlplane [--nodes N | --api-only]\n"
    "  --nodes N    simulated nodes (default 2)\n"
    "  --api-only   etcd and kube-apiserver alone\n"
    "Prints the path of a kubeconfig, then runs until SIGINT or SIGTERM.\n"
    "BERTH_CONTROLPLANE_DIR names the directory that tests/cluster/controlplane/build printed.\n";

std::optional<int> parse_count(std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) return std::nullopt;
  return value;
}

std::optional<ControlPlaneOptions> parse(int argc, char** argv) {
  ControlPlaneOptions options{.with_workloads = true};
  for (int i = 1; i < argc; ++i) {
    const std::string_view flag = argv[i];
    if (flag == "--api-only") {
      options.with_workloads = false;
    } else if (flag == "--nodes" && i + 1 < argc) {
      const auto count = parse_count(argv[++i]);
      if (!count) return std::nullopt;
      options.nodes = *count;
    } else {
      return std::nullopt;
    }
  }
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const auto options = parse(argc, argv);
  if (!options) {
    std::cerr << kUsage;
    return kExitUsage;
  }
  if (const auto reason = ControlPlane::unavailable()) {
    std::cerr << *reason << '\n';
    return kExitSkip;
  }
  // Blocked before anything is started: a signal during the start waits until all can be undone.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  sigprocmask(SIG_BLOCK, &signals, nullptr);

  const auto plane = ControlPlane::start(*options);
  if (!plane) {
    std::cerr << plane.error();
    return 1;
  }
  std::cerr << "ready in " << (*plane)->start_duration().count() << " ms at " << (*plane)->url()
            << '\n';
  std::cout << (*plane)->kubeconfig_path().string() << std::endl;
  int signal = 0;
  sigwait(&signals, &signal);
  return 0;
}
