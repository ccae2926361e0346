// A controller with a room behind a port of its edge load balancer, on an embedded API server that
// can be taken away: all in this process, on threads and sockets. For tests and benches.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "app/serve.h"
#include "base/threads.h"
#include "edge/echo_station.h"
#include "kube/client/client.h"
#include "net/curl_transport.h"
#include "providers/edge.h"
#include "sim/kube/https_frontend.h"
#include "support/scratch_dir.h"

namespace berth::testing {

class OutageHouse {
 public:
  // Returns when the room can be reached through its port.
  static Result<std::unique_ptr<OutageHouse>> open();
  ~OutageHouse();

  const model::Target& door() const { return door_; }
  bool leading() const { return app_->leading(); }
  // The controller's end, once it has ended by itself.
  std::optional<Error> end() const;

  // From now on nobody gets an answer from the API server; and until now.
  void take_server_away();
  void bring_server_back();
  // Somebody else holds the lease.
  Result<> give_lease_away();
  Duration renew_deadline() const { return config_.renew_deadline; }

 private:
  OutageHouse() = default;
  Result<> start_server();
  Result<> start_controller();
  Result<> create_room();
  Result<> make(const kube::ResourceType& type, std::string_view yaml);
  Result<> wait_for(const kube::ResourceType& type, const kube::ObjectKey& key,
                    const std::string& pointer, std::string_view value);
  Context patiently();

  ThreadTasks tasks_;
  std::optional<ScratchDir> dir_;
  net::CurlTransport transport_;
  std::unique_ptr<sim::kube::HttpsFrontend> api_;
  std::shared_ptr<const kube::ClusterConfig> cluster_;
  std::unique_ptr<kube::Client> client_;
  app::DriverSet drivers_;
  std::unique_ptr<edge::EchoStation> rooms_;
  std::unique_ptr<edge::EchoStation::Place> room_;
  app::Config config_;
  std::unique_ptr<app::App> app_;
  app::DriverSet::Attached attached_;
  model::Target door_;
  mutable Mutex mu_;
  std::optional<Error> end_ GUARDED_BY(mu_);
  std::unique_ptr<Task> main_;  // last: joined first
};

}  // namespace berth::testing
