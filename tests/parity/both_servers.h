// The two servers under test, started once for all cases. Owned by the test; after `start`, cases
// may run at the same time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/threads.h"
#include "net/curl_transport.h"
#include "sim/kube/https_frontend.h"
#include "support/control_plane.h"
#include "transcript.h"

namespace berth::parity {

class BothServers {
 public:
  static Result<std::unique_ptr<BothServers>> start();
  ~BothServers();

  // The case on one of the servers, in a namespace and an API group of its own.
  Result<std::vector<std::string>> transcript(bool real, const wire::Value& steps, int number);
  Tasks& tasks() { return tasks_; }

 private:
  Result<> start_real();
  Result<> start_embedded();
  Peer& add_peer(std::string name, std::string server, const std::string& ca_pem);
  void add_certificate(Peer& peer, const std::string& who, const crypto::KeyPair& pair);
  Result<> compact_real(const Context& context);
  Result<wire::Value> etcd(const Context& context, std::string_view path, const wire::Value& body);

  ThreadTasks tasks_;
  net::CurlTransport transport_;
  std::string scratch_;  // a file that kube-apiserver reads at its start
  std::unique_ptr<WebhookHost> hooks_;
  std::unique_ptr<testing::ControlPlane> real_;
  std::unique_ptr<sim::kube::HttpsFrontend> embedded_;
  std::map<std::string, Peer> peers_;
};

}  // namespace berth::parity
