// A line of the table: ours beside the peer or the bound, measured in the same run. And how benches
// get what they need.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "kube/client/resource.h"

namespace berth::testing {
class ControlPlane;
}

namespace berth::bench {

struct Line {
  std::string name;
  std::string what;  // what is compared with what
  double ours = 0;
  double other = 0;
  std::string unit;
  std::string better;  // "lower" or "higher"

  double ratio() const { return other > 0 ? ours / other : 0; }
};

// What several benches share: the control plane, and the objects on it. Made when first asked for.
class Environment {
 public:
  explicit Environment(std::filesystem::path own_program);
  ~Environment();

  Result<testing::ControlPlane*> control_plane();
  // A new one with nothing in it; the former one ends, with the objects below.
  Result<testing::ControlPlane*> fresh_control_plane();
  // The folder of the Go peers; an error says why there is none.
  Result<std::filesystem::path> peers() const;
  const std::filesystem::path& own_program() const { return own_program_; }

  // Objects that exist on the control plane, created once.
  Result<> need_pods(int count);
  Result<> need_rooms(int count);

  // An embedded API server in a process of its own: the path of its kubeconfig.
  Result<std::string> embedded_server();
  // A new one with nothing in it; the former one ends.
  Result<std::string> fresh_embedded_server();
  Result<> need_embedded_rooms(int count);

 private:
  struct Embedded;

  std::filesystem::path own_program_;
  std::unique_ptr<testing::ControlPlane> control_plane_;
  bool pods_ = false;
  bool rooms_ = false;
  std::unique_ptr<Embedded> embedded_;
};

// The custom objects of `need_rooms`, in the namespace "default".
const kube::ResourceType& room_type();
std::string room_name(int n);

// Runs a program that ends with one JSON line, and gives the line's numbers.
Result<std::map<std::string, double>> numbers_from(const std::filesystem::path& program,
                                                   std::vector<std::string> args);

struct Bench {
  std::vector<std::string> names;  // of the lines it gives
  std::function<Result<std::vector<Line>>(Environment&)> run;
};
std::vector<Bench> all_benches();

// The part of a bench that runs in a process of its own, for clean memory figures: `--child
// sync|transfer|watch`.
Result<> run_child(const std::string& mode, const std::string& resource,
                   const std::string& kubeconfig, int expect);

std::vector<Bench> sync_benches();
std::vector<Bench> local_benches();
std::vector<Bench> kubesim_benches();
std::vector<Bench> admission_benches();
std::vector<Bench> pool_benches();
std::vector<Bench> engine_benches();
std::vector<Bench> grant_benches();
std::vector<Bench> edge_benches();
Bench outage_bench();
Bench idle_bench();
Bench node_bench();
// In a process of its own, whose network is its own, too: `--child node`.
Result<> run_node_child();
Bench lives_bench();
std::vector<Bench> stage_benches();

// Runs an edge load balancer on 127.0.0.1 until SIGTERM: `--child edge --resource tcp|udp --expect
// PORT`.
Result<> serve_edge(const std::string& protocol, int port);

// Runs an embedded API server until SIGTERM: `--child serve`.
Result<> serve_embedded(const std::string& kubeconfig_path);

}  // namespace berth::bench
