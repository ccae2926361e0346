#include "controllers/install/holders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "api/pod_ports.h"
#include "api/port_binding.h"
#include "claims/test_support.h"

namespace berth::controllers::install {
namespace {

using claims::testing::foreign_at;
using claims::testing::leading_to;
using claims::testing::lock_at;
using claims::testing::with_claim;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using wire::Object;
using wire::Value;

const ledger::Claim kUnbound{.token = "token-1", .ns = "games"};
const ledger::Claim kBound{.state = ledger::SlotState::bound,
                           .token = "token-1",
                           .ns = "games",
                           .pod_name = "room-0",
                           .pod_uid = "uid-1"};

// Without the label that admission puts there; told of port 30000.
Value pod(std::string uid, std::string phase = "Running") {
  const api::PortBindingItem told{.pool_name = "rooms",
                                  .pool_namespace = "games",
                                  .load_balancer_ids = {"edge:demo"},
                                  .pool_item_name = "item1",
                                  .protocol = "TCP",
                                  .start_port = 30000,
                                  .rs_start_port = 8000};
  return Object{{"metadata", Object{{"namespace", "games"},
                                    {"name", "room-0"},
                                    {"uid", std::move(uid)},
                                    {"annotations", Object{{api::kPoolBindingsAnnotation,
                                                            api::encode_pool_bindings({told})}}}}},
                {"status", Object{{"phase", std::move(phase)}}}};
}

TEST(PortHolders, APodWhoseLabelWasTakenOffStillHoldsThePortsThatAreBoundToIt) {
  const api::Listener lock = with_claim(lock_at({}), kBound);
  EXPECT_THAT(port_holders({lock}, {pod("uid-1")}), ElementsAre("games/room-0"));
  EXPECT_THAT(port_holders({lock}, {pod("uid-2")}), IsEmpty()) << "another of that name";
  EXPECT_THAT(port_holders({lock}, {pod("uid-1", "Succeeded")}), IsEmpty());
  EXPECT_THAT(port_holders({lock_at({})}, {pod("uid-1")}), IsEmpty()) << "the port is free";
}

TEST(PortHolders, APodThatWaitsForItsAddressHoldsWhatItWasTold) {
  EXPECT_THAT(port_holders({with_claim(lock_at({}), kUnbound)}, {pod("uid-1", "Pending")}),
              ElementsAre("games/room-0"));
  Value labelled = pod("uid-1", "Pending");
  Object& meta = labelled.as_object()["metadata"].as_object();
  meta.erase("annotations");
  EXPECT_THAT(port_holders({with_claim(lock_at({}), kUnbound)}, {labelled}), IsEmpty());
  meta["labels"] = Object{{ledger::kTokenLabel, "token-1"}};
  EXPECT_THAT(port_holders({with_claim(lock_at({}), kUnbound)}, {labelled}),
              ElementsAre("games/room-0"));
}

TEST(PortHolders, APodThatAnotherControllerLeadsToCounts) {
  EXPECT_THAT(port_holders({leading_to(foreign_at({}), "10.0.0.1")}, {pod("uid-1")}),
              ElementsAre("games/room-0"))
      << "its Listener goes with the CRD";
  EXPECT_THAT(port_holders({foreign_at({})}, {pod("uid-1")}), IsEmpty());
}

}  // namespace
}  // namespace berth::controllers::install
