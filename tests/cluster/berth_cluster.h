// A real control plane with replicas of `berth controller` beside it, as a cluster has them: they
// share one address, to which the API server sends its webhooks, and elect a leader. Some can be
// killed or held at any moment.
//
// Owned by a test suite; for the suite's own thread, which must outlive it. The client and `create`
// may be used by tasks.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/threads.h"
#include "kube/client/client.h"
#include "net/curl_transport.h"
#include "support/control_plane.h"
#include "support/eventually.h"

namespace berth {

struct BerthClusterOptions {
  std::size_t replicas = 2;
  // What replicas run; empty for the binary of this build.
  std::filesystem::path program{};
  // Whether controllers and nodes run from the beginning; otherwise when the plane is asked. Pods
  // that are there by then keep their addresses, so that newcomers need others.
  bool with_workloads = true;
  std::vector<std::string> api_server_args{};
  // Whoever configures the server for our webhooks must know their port.
  std::function<void(int webhook_port)> before_api_server{};
  // The replicas are the control plane's second user, with all rights but not above the server's
  // limits, as the administrator is.
  bool as_plain_user = false;
  // Where load balancers of the replicas are; by default each on a loopback address.
  std::vector<std::string> edge_args{"--edge-loopback"};
  // What each replica that is started is given to find the server, if not the control plane's own.
  std::function<std::filesystem::path(const testing::ControlPlane&)> kubeconfig{};
  // Short, so that tests see a port change hands and a leader follow another.
  std::vector<std::string> controller_args{"--quarantine-seconds=0.5", "--lease-seconds=12",
                                           "--renew-deadline-seconds=9", "--lease-retry-seconds=1"};
};

class BerthCluster {
 public:
  // Returns when it serves, unless there are to be no replicas. The error says what went wrong.
  static Result<std::unique_ptr<BerthCluster>> start(BerthClusterOptions options = {});
  ~BerthCluster();

  testing::ControlPlane& plane() { return *plane_; }
  kube::Client& client() { return *client_; }
  Tasks& tasks() { return tasks_; }
  Context context() { return Context{.tasks = tasks_}; }

  // Whether a replica leads and the server calls the webhooks.
  bool serves();

  // Replicas are numbered as they are started; numbers are not used again.
  std::size_t start_replica();
  // What replicas that are started from now on run.
  void use_program(std::filesystem::path program) { options_.program = std::move(program); }
  // What they are given, beside what every replica is.
  void use_controller_args(std::vector<std::string> args) {
    options_.controller_args = std::move(args);
  }
  int webhook_port() const { return webhook_port_->number(); }
  // Whether it serves webhooks by now: its caches are there.
  bool wait_until_ready(std::size_t number);
  bool runs(std::size_t number) { return replicas_[number].process.running(); }
  pid_t pid_of(std::size_t number) const { return replicas_[number].process.pid(); }
  void kill_replica(std::size_t number);  // SIGKILL
  void stop_replica(std::size_t number);  // SIGTERM, as a Deployment does it
  void hold_replica(std::size_t number);  // SIGSTOP
  void resume_replica(std::size_t number);
  // The one that holds the lease and runs.
  std::optional<std::size_t> leader();
  std::size_t wait_for_leader();
  // Kills the leader and starts another replica in its place.
  void replace_leader();
  // The same with all of them at once: what they remembered is gone.
  void replace_all();
  // Starts another replica for each that ended by itself, as one that loses its lease does: a
  // Deployment would, too.
  void tend();
  // Everything that the replicas wrote, from this number on; for messages of failures.
  std::string logs(std::size_t first = 0) const;

  // A namespace whose Pods may use port pools, ready for Pods. Returns its name.
  std::string make_namespace(const std::string& name);
  // What the server says to the creation of an object.
  Result<wire::Value> create(const wire::Value& object, bool dry_run = false);
  Result<wire::Value> get(const kube::ResourceType& type, const std::string& ns,
                          const std::string& name);
  std::vector<wire::Value> list(const kube::ResourceType& type, const std::string& ns,
                                const std::string& labels = "");
  Result<wire::Value> merge(const kube::ResourceType& type, const std::string& ns,
                            const std::string& name, const wire::Value& patch);
  Result<> remove(const kube::ResourceType& type, const std::string& ns, const std::string& name);

 private:
  struct Replica {
    testing::Process process;
    std::filesystem::path log;
    bool given_up = false;
  };
  BerthCluster() = default;

  BerthClusterOptions options_;
  ThreadTasks tasks_;
  net::CurlTransport transport_;
  std::unique_ptr<testing::ControlPlane> plane_;
  std::optional<testing::ReservedPort> webhook_port_;
  std::unique_ptr<kube::Client> client_;
  std::deque<Replica> replicas_;
};

}  // namespace berth
