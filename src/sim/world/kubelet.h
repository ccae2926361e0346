// Scheduler and kubelet in one, for Pods of the whole cluster: a new Pod gets a node, then an
// address; a Pod that is being deleted ends after a while and is gone.
//
// Tasks of the world, which never crash. Every delay comes from the seed, and no address is given
// twice, so that traffic that goes to a former Pod is told from the right one.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "base/random.h"
#include "sim/world/cluster.h"

namespace berth::world {

struct KubeletOptions {
  Duration max_start = std::chrono::seconds{3};
  Duration max_end = std::chrono::seconds{5};
};

class Kubelet {
 public:
  // The cluster outlives it.
  Kubelet(Cluster& cluster, KubeletOptions options);

  // The server has other Pods than those it told of: its state was restored. Those that are new to
  // this node are started, those that it has ended are started anew, with another address.
  void look_around();

 private:
  struct PodName {
    std::string path{};
    std::string name{};
    std::string uid{};
  };

  void look_at(const net::Request& request, const SeenReply& reply);
  static PodName name_of(const wire::Value& pod);
  void start_pod(const PodName& pod, const std::stop_token& stop);
  void give_address(const PodName& pod, const std::stop_token& stop);
  void end_pod(const PodName& pod, const std::stop_token& stop);
  // Tries until the server does it. False: it concerns this Pod no more.
  bool send(const PodName& pod, const net::Request& request, const std::stop_token& stop);
  bool is_for(const PodName& pod, const net::Reply& found, const net::Request& request) const;
  Duration up_to(Duration most);

  Cluster& cluster_;
  const KubeletOptions options_;
  Random random_;
  std::uint32_t addresses_ = 0;
  std::set<std::string> ended_;  // uids
  std::shared_ptr<const ServerGateway::Observer> observing_;
};

}  // namespace berth::world
