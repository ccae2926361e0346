// Pools and workloads that ask for ports of them, and how they stand on a cluster: what users would
// write, and what they would look at.
//
// Plain functions on a BerthCluster; for the thread of the test.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "api/decode.h"
#include "api/pod_ports.h"
#include "berth_cluster.h"
#include "claims/slot.h"

namespace berth {

// The types that tests create and read.
const std::vector<const kube::ResourceType*>& known_types();
const kube::ResourceType& quota_type();

// The id of a load balancer that no other test on this machine uses: processes that share one would
// fight for its addresses.
std::string load_balancer_id(const std::string& name);

struct PoolItem {
  std::string name = "item1";
  std::vector<std::string> load_balancers{};
  int start = 30000;
  int end = 30010;
  std::string protocol = "TCP";
  int segment = 0;
  std::string external{};
};
wire::Value pool_item(const PoolItem& item);
wire::Value pool(const std::string& ns, const std::string& name, const std::vector<PoolItem>& items,
                 const std::string& policy = "");
// Creates it and waits until it is Ready.
Result<> make_pool(BerthCluster& cluster, const wire::Value& pool);
Result<> set_items(BerthCluster& cluster, const std::string& ns, const std::string& name,
                   const std::vector<PoolItem>& items);

struct RoomsSpec {
  std::string kind = "StatefulSet";
  std::string ns{};
  std::string name{};
  int replicas = 1;
  std::string ports = "rooms TCP 8000";
  std::string keep{};
  bool gate = true;
};
wire::Value workload(const RoomsSpec& spec);
wire::Value bare_room(const std::string& ns, const std::string& name,
                      const std::string& ports = "rooms TCP 8000");
Result<> scale(BerthCluster& cluster, const RoomsSpec& spec, int replicas);

// A Pod that was given ports.
struct Room {
  std::string name{};
  std::string uid{};
  std::string ip{};
  std::string token{};
  bool deleting = false;
  bool finished = false;
  bool ready = false;  // the Pod's condition
  std::string told{};  // the status annotation
  bool gated = false;
  bool gate_open = false;
  std::vector<api::PortBindingItem> ports{};

  // "edge:x TCP 30000", for each port on its first load balancer.
  std::vector<std::string> port_names() const;
};
Room room_of(const wire::Value& pod);
std::vector<Room> rooms(BerthCluster& cluster, const std::string& ns);
// Where players reach it: addresses and ports of everything it has.
std::string address_of(const Room& room);

// Claims of the Listeners of a namespace, by "name of the Listener".
std::map<std::string, ledger::Claim> claims_in(BerthCluster& cluster, const std::string& ns);
// Ports that two living Pods have; empty when all is well. At any moment. A promise is broken then,
// and the suite says so.
std::string shared_ports(const std::vector<Room>& rooms);
// What keeps the namespace from being settled with this many rooms, in words; empty when everything
// is Ready, leads where it should, and nothing else is held.
std::string unsettled(BerthCluster& cluster, const std::string& ns, std::size_t count);
// Waits for it. Empty, or what is missing. A port that two Pods have at any moment ends it.
std::string settle(BerthCluster& cluster, const std::string& ns, std::size_t count,
                   std::chrono::seconds patience = std::chrono::seconds{180});

// How long rooms take from the moment they are first seen until they are Ready; prints it.
class ReadyClock {
 public:
  ReadyClock(Tasks& tasks, std::string what) : tasks_(tasks), what_(std::move(what)) {}
  ~ReadyClock();
  void look(const std::vector<Room>& rooms);

 private:
  Tasks& tasks_;
  const std::string what_;
  std::map<std::string, Instant> seen_;
  std::map<std::string, double> seconds_;
};

}  // namespace berth
