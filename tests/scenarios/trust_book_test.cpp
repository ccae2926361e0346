// What the watcher of scenarios with people sees, and what it takes as it is: Pods that somebody
// calls Ready as we would, in a world without us.
#include "trust_book.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "hand_objects.h"
#include "hands.h"

namespace berth::scenario {
namespace {

using testing::HasSubstr;
using wire::Object;

using std::chrono::seconds;

const std::string kTenant = "mallory";
const std::string kOperator = "oscar";
constexpr Duration kGrace = seconds{90};

class TrustBookTest : public ::testing::Test {
 protected:
  TrustBookTest() : world_(1, options()), book_(world_, kGrace) { book_.know_tenant(kTenant); }

  static world::WorldOptions options() {
    world::WorldOptions out{.replicas = 0};
    out.cluster.people = {{.name = std::string(world::kOurUser), .role = kMay},
                          {.name = kTenant, .role = kMay},
                          {.name = kOperator, .role = kMay}};
    return out;
  }
  void ask(std::string_view user, const std::string& method, const std::string& path,
           const Object& body) {
    const auto answer =
        world_.cluster().ask(world::signed_by(user, world::request_of(method, path, body)));
    ASSERT_TRUE(answer) << answer.error().to_string();
  }
  void note_on(std::string_view user, const std::string& pod, Object annotations) {
    ask(user, "PATCH", path_in("default", "pods", pod),
        Object{{"metadata", Object{{"annotations", std::move(annotations)}}}});
  }
  // Told of one port of one pool, whoever else was.
  void create(const std::string& name) {
    const std::string told = api::encode_pool_bindings({{.pool_name = "rooms",
                                                         .pool_namespace = "default",
                                                         .load_balancer_ids = {"edge:demo"},
                                                         .pool_item_name = "item1",
                                                         .protocol = "TCP",
                                                         .start_port = 30000,
                                                         .rs_start_port = 8000}});
    ask("", "POST", path_in("default", "pods"),
        pod("default", name, {},
            {{api::kPortPoolsAnnotation, "true"},
             {api::kPortsAnnotation, "rooms TCP 8000"},
             {api::kPoolBindingsAnnotation, told}}));
    // Where it leads is not what this is about.
    book_.note_place({.lb = *model::parse_load_balancer("edge:demo", {}), .port = 30000},
                     std::chrono::hours{1});
  }
  void call_ready(const std::string& name) {
    note_on(world::kOurUser, name, {{api::kBindStatusAnnotation, api::kReady}});
  }
  std::string complaint() {
    const auto& failure = world_.kernel().failure();
    return failure ? failure->to_string() : "";
  }

  static constexpr world::Role kMay = world::Role::administrator;
  world::World world_;
  TrustBook book_;
};

TEST_F(TrustBookTest, TwoReadyPodsOnOnePortAreSeen) {
  create("room-0");
  create("room-1");
  call_ready("room-0");
  EXPECT_EQ(complaint(), "");
  call_ready("room-1");
  EXPECT_THAT(complaint(), HasSubstr("is Ready at port"));
}

// Somebody has just moved the item, or written something on the Pod: that is his right.
TEST_F(TrustBookTest, NothingThatATenantWroteExcusesThem) {
  create("room-0");
  create("room-1");
  note_on(kTenant, "room-0", {{"mine", "1"}});
  note_on(kTenant, "room-1", {{"mine", "1"}});
  call_ready("room-0");
  EXPECT_EQ(complaint(), "");
  call_ready("room-1");
  EXPECT_THAT(complaint(), HasSubstr("is Ready at port"));
}

TEST_F(TrustBookTest, WhatAnOperatorWroteIsTakenAsItIs) {
  create("room-0");
  create("room-1");
  note_on(kOperator, "room-0", {{"mine", "1"}});
  call_ready("room-0");
  call_ready("room-1");
  EXPECT_EQ(complaint(), "");
}

TEST_F(TrustBookTest, WhatExcusedThemOnceIsOverAfterAWhile) {
  create("room-0");
  create("room-1");
  book_.note_upheaval(seconds{30});
  call_ready("room-0");
  call_ready("room-1");
  book_.check_all();
  EXPECT_EQ(complaint(), "");
  ASSERT_TRUE(world_.cluster().run_for(seconds{40}));
  book_.check_all();
  EXPECT_THAT(complaint(), HasSubstr("is Ready at port"));
}

}  // namespace
}  // namespace berth::scenario
