// For tests of the controllers of this folder: caches that a scripted API feeds, on virtual time.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "claims/test_replica.h"
#include "controllers/portpool/caches.h"
#include "controllers/portpool/test_support.h"
#include "kube/client/test_scripted_api.h"
#include "kube/runtime/event_recorder.h"
#include "kube/runtime/manager.h"
#include "sim/kernel/kernel.h"
#include "sim/kernel/run_for.h"

namespace berth::controllers::portpool::testing {

inline const kube::ResourceType& kListener = api::listener_kind().type;
inline const kube::ResourceType& kBinding = api::port_binding_kind().type;
inline const kube::ResourceType& kPod = kube::types::kPod;
inline const kube::ResourceType& kPool = api::port_pool_kind().type;
inline const kube::ResourceType& kBalancer = api::load_balancer_kind().type;
inline const kube::ObjectKey kRoom{"games", "room-0"};

inline wire::Value encoded(const kube::Pod& pod) {
  wire::Array ips;
  for (const std::string& ip : pod.ips) ips.push_back(wire::Object{{"ip", ip}});
  return wire::Object{{"metadata", claims::testing::encoded(pod.meta)},
                      {"spec", wire::Object{}},
                      {"status", wire::Object{{"phase", "Running"}, {"podIPs", std::move(ips)}}}};
}

inline wire::Value encoded(const api::PortPool& pool) {
  return wire::Object{{"metadata", claims::testing::encoded(pool.meta)},
                      {"spec", api::encode(pool.spec)}};
}

class PortPoolControllerTest : public ::testing::Test {
 protected:
  PortPoolControllerTest() {
    add_pod_indexes(pods_);
    claims::add_indexes(balancers_);
    claims::add_indexes(blocks_);
    api_.on_change = [this](std::string_view plural, const kube::ObjectKey& key,
                            const wire::Value* now) { feed(plural, key, now); };
  }

  // The server has what the webhook has left of it.
  void has(const Room& room) {
    for (const auto& [name, listener] : room.listeners) put(listener);
    if (room.pod) put(*room.pod);
  }
  void put(const api::Listener& listener) {
    api_.put(kListener, claims::testing::encoded(listener));
  }
  void put(const api::PortPool& pool) { api_.put(kPool, encoded(pool)); }
  void put(const kube::Pod& pod) { api_.put(kPod, encoded(pod)); }

  api::Listener listener(const std::string& name = "demo-tcp-30000") const {
    return api::decode_listener(*api_.find(kListener, {"games", name})).value();
  }
  ledger::Claim claim(const std::string& name = "demo-tcp-30000") const {
    return claims::claim_of(listener(name)).value_or(ledger::Claim{.state = {}});
  }
  // The load balancer does what the Listener says.
  void confirm(const std::string& name = "demo-tcp-30000") {
    put(claims::testing::applied(listener(name)));
  }
  // Until nobody has anything to do.
  void settle() { ASSERT_TRUE(kernel_.run_until_quiescent(std::chrono::milliseconds{500})); }
  void pass(Duration span) { ASSERT_TRUE(sim::run_for(kernel_, span)); }

  template <class Controller>
  std::unique_ptr<Task> start(Controller& controller) {
    controller.add_to(manager_);
    return tasks_.spawn("run", [this](std::stop_token stop) {
      (void)manager_.run({.tasks = tasks_, .stop = std::move(stop)});
    });
  }

  sim::Kernel kernel_{1, {.wall_start = kNow}};
  sim::Process& tasks_ = kernel_.start_process("test");
  kube::testing::ScriptedApi api_;
  claims::testing::TestReplica replica_{tasks_, api_};
  kube::Store<api::LoadBalancer> balancers_;
  kube::Store<api::PortBlock> blocks_;
  kube::Store<api::PortBinding> bindings_;
  kube::Store<kube::Pod> pods_;
  const Caches caches_{replica_.pools, replica_.listeners, balancers_, blocks_, bindings_, pods_};
  metrics::Registry registry_;
  kube::EventRecorder events_{tasks_, replica_.client, "berth", registry_};
  kube::Manager manager_;
  bool hears_listeners_ = true;  // the caches follow the server
  bool hears_bindings_ = true;
  bool hears_pods_ = true;
  bool may_write_ = true;

 private:
  void feed(std::string_view plural, const kube::ObjectKey& key, const wire::Value* now) {
    if (plural == "listeners" && hears_listeners_) {
      if (now) replica_.listeners.put(api::decode_listener(*now).value());
      if (!now) replica_.listeners.erase(key, "", api_.version());
    }
    if (plural == "portbindings" && hears_bindings_) {
      if (now) bindings_.put(api::decode_port_binding(*now).value());
      if (!now) bindings_.erase(key, "", api_.version());
    }
    if (plural == "portpools") {
      if (now) replica_.pools.put(api::decode_port_pool(*now).value());
      if (!now) replica_.pools.erase(key, "", api_.version());
    }
    if (plural == "loadbalancers") {
      if (now) balancers_.put(api::decode_load_balancer(*now).value());
      if (!now) balancers_.erase(key, "", api_.version());
    }
    if (plural == "pods" && hears_pods_) {
      if (now) pods_.put(decode_pod(*now));
      if (!now) pods_.erase(key, "", api_.version());
      pods_.advance(api_.version());
    }
  }
  static kube::Pod decode_pod(const wire::Value& pod) {
    wire::JsonReader reader;
    return kube::pod_projection({.annotations = kube::KeyFilter::everything()})
        .from_json(reader, wire::to_json(pod))
        .value();
  }
};

}  // namespace berth::controllers::portpool::testing
