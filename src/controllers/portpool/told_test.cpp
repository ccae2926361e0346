// What a Pod was told, after somebody edited it before its ports were bound.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "controllers/portpool/test_support.h"

namespace berth::controllers::portpool {
namespace {

using std::chrono::seconds;
using testing::entry;
using testing::is_idle;
using ::testing::IsEmpty;
using testing::put;
using testing::Room;
using Told = std::vector<api::PortBindingItem>;

class EditedRoom : public ::testing::Test {
 protected:
  EditedRoom() {
    const Told told{entry(30000), entry(30001)};
    api::PortPool pool = claims::testing::pool_with({});
    pool.status.pool_items = {{.item_name = "item1",
                               .load_balancer_ids = told[0].load_balancer_ids,
                               .pool_item_load_balancers = told[0].pool_item_load_balancers}};
    room_.pool = std::move(pool);
    text_ = room_.pod_says(api::kPoolBindingsAnnotation);
  }
  void write(const Told& told) {
    put(room_.pod->meta.annotations, api::kPoolBindingsAnnotation, api::encode_pool_bindings(told));
  }
  std::string says() const { return room_.pod_says(api::kPoolBindingsAnnotation); }
  void expect_as_it_was() const {
    EXPECT_EQ(says(), text_);
    EXPECT_EQ(room_.target("demo-tcp-30000"), "10.0.0.1:8000 w10");
    EXPECT_EQ(room_.target("demo-tcp-30001"), "10.0.0.1:8001 w10");
    EXPECT_EQ(room_.status(), "Ready");
    EXPECT_TRUE(is_idle(room_.plan()));
  }

  Room room_{{entry(30000), entry(30001)}};
  std::string text_;
};

TEST_F(EditedRoom, IsBoundAsItsClaimsSay) {
  api::PortBindingItem elsewhere = entry(30000);
  elsewhere.rs_start_port = 22;
  const Room fresh = room_;
  for (const Told& edit : {Told{elsewhere, entry(30001)}, Told{entry(30001)}, Told{},
                           Told{entry(30000), entry(30001), entry(30005)}}) {
    SCOPED_TRACE(api::encode_pool_bindings(edit));
    room_ = fresh;
    write(edit);
    room_.make_ready();
    expect_as_it_was();
  }
}

TEST_F(EditedRoom, WaitsForClaimsThatAreOnTheirWay) {
  const ledger::Claim late = room_.claim("demo-tcp-30001");
  room_.set_claim("", "demo-tcp-30001");
  write({entry(30000)});
  const BindingPlan plan = room_.step();
  EXPECT_THAT(plan.changes, IsEmpty());
  EXPECT_TRUE(plan.requeue_after);
  EXPECT_FALSE(room_.object) << "half of what it has would be recorded";
  room_.set_claim(late, "demo-tcp-30001");
  room_.make_ready();
  expect_as_it_was();
}

// A copy of a Pod that is Ready says so of itself, and nothing is here that proves it.
TEST_F(EditedRoom, IsNotReadyWhileNothingProvesWhatItWasTold) {
  write({entry(30000)});
  put(room_.pod->meta.annotations, api::kBindStatusAnnotation, std::string(api::kReady));
  for (const char* name : {"demo-tcp-30000", "demo-tcp-30001"}) room_.set_claim("", name);
  EXPECT_EQ(room_.step().pod_note.status, api::kNotReady);
}

// What changes while a Pod lives is not sealed: which load balancers it says they are moves
// nothing.
TEST_F(EditedRoom, ThatNamesOtherLoadBalancersStaysReady) {
  room_.make_ready();
  write({entry(30000, {"other"}), entry(30001)});
  room_.step();
  EXPECT_EQ(room_.status(), "Ready");
  EXPECT_EQ(room_.target("demo-tcp-30000"), "10.0.0.1:8000 w10");
}

// Nothing says any more what it was told: it has the ports of its claims, and no other.
TEST_F(EditedRoom, WithoutItsSealHasItsOwnPortsAsItSays) {
  api::PortBindingItem elsewhere = entry(30000);
  elsewhere.rs_start_port = 22;
  write({elsewhere, entry(30001), entry(30005)});
  put(room_.pod->meta.annotations, claims::kPortsSealAnnotation, "request:forged");
  EXPECT_THAT(room_.step().changes, IsEmpty());
  room_.now += seconds{10};
  room_.make_ready();
  EXPECT_EQ(room_.target("demo-tcp-30000"), "10.0.0.1:22 w10");
  EXPECT_NE(room_.status(), "Ready");
}

}  // namespace
}  // namespace berth::controllers::portpool
