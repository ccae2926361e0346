// Somebody with the rights of an editor in namespaces of their own and none elsewhere, as a service
// account of a real cluster: Pods, workloads, ConfigMaps, Secrets, Leases, and our kinds.
//
// Owned by the stage; for the thread of the test.
#pragma once

#include <memory>
#include <string>

#include "rooms.h"

namespace berth::adversary {

// The metadata that a server gives is taken off: the object as somebody would copy it.
wire::Value copy_of(const wire::Value& object, const std::string& ns, const std::string& name = "");
std::string pointer(std::string_view prefix, std::string_view key);
std::string_view annotation(const wire::Value& object, std::string_view key);
// Merge patches.
wire::Value annotate(std::string_view key, std::string_view value);
wire::Value take_off(std::string_view annotation_key);

class Tenant {
 public:
  // Ports on a load balancer that the tenant's pool has or will have.
  struct Place {
    std::string load_balancer{};
    int first = 0;
    int ports = 3;
  };
  // Namespaces `name`, whose Pods may use pools, and `name`-plain, whose Pods may not.
  static Result<std::unique_ptr<Tenant>> make(BerthCluster& cluster, net::Transport& transport,
                                              const std::string& name, Place place);

  const std::string& ns() const { return ns_; }
  std::string plain() const { return ns_ + "-plain"; }
  const Place& place() const { return place_; }
  PoolItem item() const;
  kube::Client& client() { return *client_; }

  // As the tenant: what the server says.
  Result<wire::Value> create(const kube::ResourceType& type, const wire::Value& object);
  Result<wire::Value> get(const kube::ResourceType& type, const std::string& ns,
                          const std::string& name);
  Result<wire::Value> merge(const kube::ResourceType& type, const std::string& ns,
                            const std::string& name, const wire::Value& patch,
                            const std::string& subresource = "");
  Result<> remove(const kube::ResourceType& type, const std::string& ns, const std::string& name);
  testing::CommandResult kubectl(std::vector<std::string> args, std::string_view input = {});

  // A pool `rooms` of the tenant's item.
  Result<> ask_for_pool();
  Result<> ask_for_room(const std::string& name);
  std::string wait_for_pool();
  // Until it is Ready and leads to it. Empty, or what is missing.
  std::string wait_for_room(const std::string& name);
  Room room(const std::string& name);
  // What is missing until the room is Ready and its first port leads to it alone.
  std::string is_led_to(const Room& room);
  // The Listener of its first port.
  wire::Value listener_of(const std::string& room);
  std::vector<wire::Value> listeners();
  // One of its pool that nobody has.
  wire::Value free_listener();

 private:
  Tenant(BerthCluster& cluster, std::string name, Place place)
      : cluster_(cluster), ns_(std::move(name)), place_(std::move(place)) {}
  Result<> grant_rights(const std::string& ns);
  Result<> sign_in(net::Transport& transport);

  BerthCluster& cluster_;
  const std::string ns_;
  const Place place_;
  std::string token_;
  std::unique_ptr<kube::Client> client_;
};

}  // namespace berth::adversary
