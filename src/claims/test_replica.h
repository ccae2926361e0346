// The claiming half of a replica, for tests: its caches, its Claimer, and an API server on which
// other replicas may be faster. Free of GTest.
#pragma once

#include <string>
#include <vector>

#include "api/decode.h"
#include "claims/claimer.h"
#include "claims/test_support.h"
#include "kube/client/test_scripted_api.h"

namespace berth::claims::testing {

// The API server's objects of a pool of single ports, all of them free.
inline void open_pool(kube::testing::ScriptedApi& api, const api::PortPool& pool) {
  for (const api::PortPoolItem& item : pool.spec.pool_items) {
    const auto protocols = api::protocols_of(item).value();
    for (std::int64_t slot = 0; slot < api::slot_count(item); ++slot)
      for (const model::Protocol protocol : protocols)
        api.put(api::listener_kind().type,
                encoded(lock_at({.item = item.item_name,
                                 .protocol = protocol,
                                 .ports = api::slot_ports(item, slot)})));
  }
}

class TestReplica {
 public:
  TestReplica(Tasks& tasks, kube::testing::ScriptedApi& api)
      : api_(api),
        client(api, kube::fixed_config("https://api:6443", {})),
        index(indexed(listeners), pools,
              [](const api::Listener& one) { return sealer().judge(one) == Trust::ours; }),
        sightings(tasks, listeners),
        claimer(client, listeners, index, sightings, Random(1),
                {.lowest_first = [] { return true; }}) {}

  void know(api::PortPool pool) {
    pool.meta.resource_version = ++pool_version_;
    pools.put(std::move(pool));
  }
  // Its cache of Listeners is what the server has now. Until then it knows what it wrote itself.
  void catch_up() {
    std::vector<api::Listener> all;
    for (const wire::Value& one : api_.all(api::listener_kind().type))
      all.push_back(api::decode_listener(one).value());
    (void)listeners.replace(std::move(all), api_.version());
  }

 private:
  static ListenerStore& indexed(ListenerStore& store) {
    add_indexes(store, {});
    return store;
  }
  kube::testing::ScriptedApi& api_;
  kube::ResourceVersion pool_version_ = 0;

 public:
  kube::Client client;
  ListenerStore listeners;
  PoolStore pools;
  SlotIndex index;
  Sightings sightings;
  Claimer claimer;
};

}  // namespace berth::claims::testing
