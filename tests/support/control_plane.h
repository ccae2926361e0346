#pragma once

// A real Kubernetes control plane for tests: etcd and kube-apiserver, on request also
// kube-controller-manager, kube-scheduler and kwok with simulated nodes, all on loopback and
// without root. `tests/cluster/controlplane/build` makes the programs; the environment variable
// BERTH_CONTROLPLANE_DIR names their directory.
//
// Owner: the test that called start(); destroying the object stops every process and removes every
// file. Threads: kubectl() and the accessors may be called from any thread. The thread that calls
// start() must outlive the object, because the kernel kills our children when that thread ends.

#include <chrono>
#include <expected>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/reserved_port.h"
#include "support/scratch_dir.h"
#include "support/subprocess.h"

namespace berth::testing {

// Somebody the API server knows by a token, beside the administrator and the plain user.
struct ControlPlaneUser {
  std::string name;
  std::string group{};
};

struct ControlPlaneOptions {
  // Also start controller-manager, scheduler and kwok: Deployments then become Pods, and Pods run
  // on simulated nodes. Without it Pods stay as they were created, and need no service account.
  bool with_workloads = false;
  // They are started by start_workloads(): what is put on the server before meets nobody.
  bool workloads_later = false;
  int nodes = 2;
  // Where simulated Pods have their addresses, from the first one on.
  std::string pod_cidr = "10.64.0.0/12";
  // Without kwok nobody plays nodes, and those that join later are as real as whoever starts them.
  bool with_kwok = true;

  // An address of this network namespace at which nodes and Pods reach the API server, which is
  // then published as the Service `kubernetes`. Empty: it serves on loopback alone.
  std::string address{};
  // Each has a kubeconfig, see kubeconfig_of().
  std::vector<ControlPlaneUser> users{};

  // Appended to the flags of kube-apiserver, so they win over ours.
  std::vector<std::string> api_server_args{};
  std::vector<std::string> controller_manager_args{};
  // The number of writes kube-apiserver works on at a time; its own default is 200.
  std::optional<int> max_mutating_inflight{};

  // Empty: the directory in BERTH_CONTROLPLANE_DIR.
  std::filesystem::path programs{};
  // How long any single step of the start may take. Generous: other builds may share the machine.
  std::chrono::seconds step_timeout{60};
};

class ControlPlane {
 public:
  // Returns when /readyz says ok and, with workloads, all nodes are Ready and Pods can be created
  // in the namespace "default". An error carries the end of the log that explains it.
  static std::expected<std::unique_ptr<ControlPlane>, std::string> start(
      ControlPlaneOptions options = {});

  // Why no control plane can be started here, if so: the reason to skip a test.
  static std::optional<std::string> unavailable();

  using Outcome = std::expected<void, std::string>;
  // With `workloads_later`: what start() left out.
  Outcome start_workloads();

  // The API server goes at once (SIGKILL), and comes back where it was: kubeconfigs stay valid.
  Outcome stop_api_server();
  Outcome restart_api_server();
  // Stands still (SIGSTOP): connections are taken and nobody answers.
  void hold_api_server() const;
  void resume_api_server() const;

  ControlPlane(const ControlPlane&) = delete;
  ControlPlane& operator=(const ControlPlane&) = delete;
  ~ControlPlane();

  [[nodiscard]] const std::string& url() const { return url_; }
  [[nodiscard]] const std::string& ca_pem() const { return ca_pem_; }
  // etcd's own endpoint, without TLS; its JSON gateway lies under /v3.
  [[nodiscard]] std::string etcd_url() const;
  [[nodiscard]] std::uint16_t port() const { return api_port_.number(); }
  // Where a program of the control plane lies, such as kubectl.
  [[nodiscard]] std::filesystem::path program(std::string_view name) const {
    return options_.programs / name;
  }

  // The administrator may do everything (group system:masters).
  [[nodiscard]] const std::string& admin_token() const { return admin_token_; }
  [[nodiscard]] const std::filesystem::path& kubeconfig_path() const { return admin_kubeconfig_; }

  // A second user, who may do only what a test grants with RBAC.
  static constexpr std::string_view kUserName = "plain-user";
  [[nodiscard]] const std::string& user_token() const { return user_token_; }
  [[nodiscard]] const std::filesystem::path& user_kubeconfig_path() const {
    return user_kubeconfig_;
  }

  // Of one of the `users` of the options.
  [[nodiscard]] std::filesystem::path kubeconfig_of(const ControlPlaneUser& user) const;
  // Another kubeconfig of the administrator, for those who reach the server at another URL: it has
  // to name the host as "localhost" or as `address`.
  Outcome write_kubeconfig(const std::filesystem::path& path, const std::string& url) const;

  // Runs kubectl as the administrator or as the second user. `input` is what "-f -" reads.
  [[nodiscard]] CommandResult kubectl(std::vector<std::string> args,
                                      std::string_view input = {}) const;
  [[nodiscard]] CommandResult kubectl_as_user(std::vector<std::string> args,
                                              std::string_view input = {}) const;

  // The last lines of what a program ("etcd", "kube-apiserver", "kwok", ...) wrote.
  [[nodiscard]] std::string log_tail(std::string_view program, std::size_t lines = 40) const;

  [[nodiscard]] std::vector<pid_t> process_ids() const;
  [[nodiscard]] const std::filesystem::path& directory() const { return dir_.path(); }
  [[nodiscard]] std::chrono::milliseconds start_duration() const { return start_duration_; }

 private:
  ControlPlane(ControlPlaneOptions options, ScratchDir dir, ReservedPort etcd_port,
               ReservedPort api_port);

  static std::expected<std::unique_ptr<ControlPlane>, std::string> attempt(
      const ControlPlaneOptions& options);

  Outcome bring_up();
  Outcome write_credentials();
  Outcome start_etcd();
  Outcome start_api_server();
  Outcome write_kubeconfigs();
  Outcome start_kwok();
  Outcome wait_for_workloads();

  [[nodiscard]] std::vector<std::string> api_server_flags() const;
  [[nodiscard]] std::vector<std::string> workload_args() const;
  Outcome launch(const std::string& program, std::vector<std::string> args);
  [[nodiscard]] const Process* find(std::string_view program) const;
  // Asks `ready` until it says yes; fails early when one of our processes ends.
  template <typename Ready>
  Outcome wait_for(const std::string& program, std::string_view what, Ready ready);
  Outcome kubectl_wait(std::string_view blame, std::vector<std::string> args,
                       std::string_view input = {});
  [[nodiscard]] CommandResult kubectl_with(const std::filesystem::path& kubeconfig,
                                           std::vector<std::string> args,
                                           std::string_view input) const;
  [[nodiscard]] std::string explain(std::string_view program, std::string_view what) const;
  [[nodiscard]] std::filesystem::path file(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> environment() const;

  ControlPlaneOptions options_;
  ScratchDir dir_;
  ReservedPort etcd_port_;
  ReservedPort api_port_;
  std::string url_;
  std::string ca_pem_;
  std::string admin_token_;
  std::string user_token_;
  // In the order of options_.users.
  std::vector<std::string> more_tokens_;
  std::filesystem::path admin_kubeconfig_;
  std::filesystem::path user_kubeconfig_;
  std::chrono::milliseconds start_duration_{0};
  // In the order of their start, so etcd is the first; stopped the other way round.
  std::vector<std::pair<std::string, Process>> processes_;
};

}  // namespace berth::testing
