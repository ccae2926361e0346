// What people do to our annotations with kubectl: a room that is reached stays reached, its port
// goes to nobody else, and what was taken off comes back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "pool_house.h"

namespace berth::scenario {
namespace {

using wire::Object;
using wire::Value;

using std::chrono::seconds;

const std::string kListeners =
    "/apis/networkextension.bkbcs.tencent.com/v1/namespaces/games/listeners/";

class TamperingTest : public ::testing::Test {
 protected:
  explicit TamperingTest(const world::WorldOptions& options = {}) : house_(1, options) {}
  void SetUp() override { ASSERT_TRUE(house_.open()); }

  void settle() {
    const Result<> settled = house_.settle();
    ASSERT_TRUE(settled) << settled.error().to_string();
  }
  void make_room(const std::string& name, const RoomKind& kind) {
    ASSERT_TRUE(user_.create(name, kind)) << user_.last_refusal();
    settle();
  }
  std::string annotation(const std::string& path, std::string_view key) {
    const Result<Value> found = house_.cluster().ask("GET", path);
    if (!found) return found.error().to_string();
    return std::string(
        wire::string_at(*found, "/metadata/annotations/" + wire::escape_pointer_step(key)));
  }
  // The name of the Listener that is the lock of the Pod's first port.
  std::string lock_of(const std::string& pod) {
    const auto told =
        api::decode_pool_bindings(annotation(kPods + "/" + pod, api::kPoolBindingsAnnotation));
    if (!told || told->empty()) return "";
    const api::PortBindingItem& first = told->front();
    return api::pool_listener_name(
        model::parse_load_balancer(first.load_balancer_ids.front(), {}).value(),
        api::parse_pool_protocol(first.protocol).value(), api::ports_of(first));
  }
  // The book need not approve of what people do.
  void tamper(const std::string& listener, const Value& claim) {
    house_.book().look_away(true);
    const Object annotations{{std::string(ledger::kClaimAnnotation), claim}};
    EXPECT_TRUE(house_.cluster().ask("PATCH", kListeners + listener,
                                     Object{{"metadata", Object{{"annotations", annotations}}}}));
    house_.book().look_away(false);
  }
  std::string claim_on(const std::string& listener) {
    return annotation(kListeners + listener, ledger::kClaimAnnotation);
  }
  // Players of the room notice nothing.
  void expect_ready_for(Duration span, const std::string& pod) {
    const Instant end = house_.world().kernel().now() + span;
    while (house_.world().kernel().now() < end) {
      ASSERT_TRUE(house_.cluster().run_for(std::chrono::milliseconds{50}));
      ASSERT_EQ(annotation(kPods + "/" + pod, api::kBindStatusAnnotation), "Ready");
    }
  }
  // Everybody who wants a port of the pool gets one, and one is left out: nobody gets the room's.
  void fill_rooms(std::size_t free) {
    for (std::size_t i = 0; i < free; ++i)
      ASSERT_TRUE(user_.create(fmt::format("guest-{}", i), kind_of(0), 5)) << user_.last_refusal();
    EXPECT_FALSE(user_.create("one-too-many", kind_of(0), 1));
  }

  PoolHouse house_;
  User user_{house_.world()};
};

// Pods wait long for their address.
class SlowNodeTest : public TamperingTest {
 protected:
  SlowNodeTest() : TamperingTest({.kubelet = {.max_start = std::chrono::hours{10}}}) {}
};

// The book fails a room that was told Ready and is not reached for a moment.
TEST_F(TamperingTest, AClaimThatIsTakenOffComesBackWhileItsPodIsReached) {
  make_room("room-0", kind_of(0));
  const std::string lock = lock_of("room-0");
  tamper(lock, nullptr);
  expect_ready_for(seconds{30}, "room-0");
  EXPECT_THAT(claim_on(lock), testing::HasSubstr("\"Bound\"")) << lock;
  fill_rooms(kRoomPorts - 1);
  settle();
  const Result<> closed = house_.close();
  EXPECT_TRUE(closed) << closed.error().to_string();
}

TEST_F(TamperingTest, AClaimThatIsEmptiedComesBackWhileItsPodIsReached) {
  make_room("room-0", kind_of(2));
  const std::string lock = lock_of("room-0");
  tamper(lock, "");
  expect_ready_for(seconds{30}, "room-0");
  EXPECT_THAT(claim_on(lock), testing::HasSubstr("\"Bound\"")) << lock;
  settle();
}

TEST_F(SlowNodeTest, APodThatWaitsForItsAddressKeepsItsPort) {
  ASSERT_TRUE(user_.create("room-0", kind_of(0))) << user_.last_refusal();
  const std::string lock = lock_of("room-0");
  tamper(lock, "");
  ASSERT_TRUE(house_.cluster().run_for(seconds{15}));
  EXPECT_THAT(claim_on(lock), testing::HasSubstr("\"Bound\"")) << lock;
}

TEST_F(TamperingTest, AFreePortWhoseAnnotationIsTakenOffCanBeHadAgain) {
  settle();
  tamper("demo-tcp-30000", nullptr);
  ASSERT_TRUE(house_.cluster().run_for(seconds{30}));
  fill_rooms(kRoomPorts);
  settle();
}

// People, and other programs, write members that we leave out: the same spec in other words.
TEST_F(TamperingTest, AZeroThatSomebodyWroteHoldsNothingUp) {
  settle();
  house_.book().look_away(true);
  for (std::size_t i = 0; i < kRoomPorts; ++i)
    ASSERT_TRUE(house_.cluster().ask("PATCH", kListeners + fmt::format("demo-tcp-{}", 30000 + i),
                                     Object{{"spec", Object{{"endPort", 0}}}}));
  house_.book().look_away(false);
  make_room("room-0", kind_of(0));
  EXPECT_EQ(annotation(kPods + "/room-0", api::kBindStatusAnnotation), "Ready");
}

// The annotation that asks is not among what was copied, so nobody asks us.
TEST_F(TamperingTest, ACopyOfAPodGetsNotThePortOfTheFirst) {
  make_room("room-0", kind_of(0));
  const std::string lock = lock_of("room-0");
  const Value first = house_.cluster().ask("GET", kPods + "/room-0").value();
  const auto removed = house_.cluster().play(
      "person", [this](std::stop_token) { User(house_.world()).remove("room-0"); });
  ASSERT_TRUE(house_.cluster().run_until([&] { return *removed; }));
  settle();
  ASSERT_EQ(claim_on(lock), "");
  Object annotations{
      {std::string(api::kPoolBindingsAnnotation),
       wire::string_at(first, "/metadata/annotations/" +
                                  wire::escape_pointer_step(api::kPoolBindingsAnnotation))}};
  Object spec = wire::find(first, "/spec")->as_object();
  spec.erase("nodeName");
  ASSERT_TRUE(house_.cluster().ask(
      "POST", kPods,
      Object{{"apiVersion", "v1"},
             {"kind", "Pod"},
             {"metadata", Object{{"name", "copy"},
                                 {"namespace", "games"},
                                 {"labels", *wire::find(first, "/metadata/labels")},
                                 {"annotations", std::move(annotations)}}},
             {"spec", std::move(spec)}}));
  ASSERT_TRUE(house_.cluster().run_for(seconds{60}));
  EXPECT_EQ(claim_on(lock), "");
  fill_rooms(kRoomPorts);
  settle();
}

}  // namespace
}  // namespace berth::scenario
