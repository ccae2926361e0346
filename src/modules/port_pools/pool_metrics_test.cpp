#include "modules/port_pools/pool_metrics.h"

#include <gmock/gmock.h>

namespace berth::modules::port_pools {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

api::PortBinding binding(const std::string& name, const std::string& protocol, int port,
                         std::string_view status = api::kReady) {
  api::PortBinding out;
  out.meta.ns = kube::Interned("games");
  out.meta.name = name;
  out.spec.port_binding_list = {{.pool_name = "rooms",
                                 .pool_namespace = "games",
                                 .pool_item_name = "item1",
                                 .protocol = protocol,
                                 .start_port = port,
                                 .rs_start_port = 8000}};
  out.status.status = status;
  return out;
}

class PoolMetricsOf : public ::testing::Test {
 protected:
  std::string text_with(std::vector<api::PortBinding> bindings) {
    ++version_;
    for (api::PortBinding& one : bindings) one.meta.resource_version = version_;
    EXPECT_TRUE(bindings_.replace(std::move(bindings), version_));
    return registry_.text();
  }

  kube::ResourceVersion version_ = 0;
  metrics::Registry registry_;
  kube::Store<api::PortPool> pools_;
  kube::Store<api::Listener> listeners_;
  kube::Store<api::PortBinding> bindings_;
  claims::SlotIndex slots_{listeners_, pools_, [](const api::Listener&) { return true; }};
  PoolMetrics metrics_{registry_, slots_, pools_, bindings_};
};

TEST_F(PoolMetricsOf, TwoBindingsWithOnePortAreAConflict) {
  const std::string conflict = "bkbcs_ingressctrl_portbinding_conflict{";
  EXPECT_THAT(text_with({binding("room-0", "TCP", 31000), binding("room-1", "UDP", 31000),
                         binding("room-2", "TCP", 31001)}),
              Not(HasSubstr(conflict)));
  const std::string text =
      text_with({binding("room-0", "TCP", 31000), binding("room-1", "TCP", 31000),
                 binding("room-2", "TCP", 31001)});
  const std::string key = conflict + "conflict_key=\"games/rooms/item1:31000\",";
  EXPECT_THAT(text, HasSubstr(key + "namespaced_name=\"games/room-0\"} 2\n"));
  EXPECT_THAT(text, HasSubstr(key + "namespaced_name=\"games/room-1\"} 2\n"));
  EXPECT_THAT(text, Not(HasSubstr("room-2")));
  // A name that waits for its Pod has no port that leads anywhere.
  EXPECT_THAT(
      text_with({binding("room-0", "TCP", 31000), binding("room-1", "TCP", 31000, api::kCleaned)}),
      Not(HasSubstr(conflict)));
}

}  // namespace
}  // namespace berth::modules::port_pools
