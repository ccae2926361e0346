#include "kube/client/test_scripted_api.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/client/client.h"

namespace berth::kube::testing {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using wire::Array;
using wire::Object;
using wire::Value;

const ObjectKey kRoom{"games", "room-0"};

// What tests above lean on: an API that forgives more than the real one would hide their defects.
class ScriptedApiTest : public ::testing::Test {
 protected:
  static Value pod(const std::string& name, std::string_view app = "room") {
    return Object{{"metadata", Object{{"namespace", "games"},
                                      {"name", name},
                                      {"labels", Object{{"app", app}, {"at/home", "1"}}}}}};
  }
  Result<Value> patch(PatchType type, const Value& body) {
    return client_.patch(context_, types::kPod, kRoom, type, body);
  }
  std::string app() const {
    return std::string(wire::string_at(*api_.find(types::kPod, kRoom), "/metadata/labels/app"));
  }
  std::vector<std::string> listed(std::string selector, std::string ns = "games") {
    std::vector<std::string> out;
    const auto page = client_.list_all(
        context_, types::kPod, {.ns = std::move(ns), .label_selector = std::move(selector)});
    for (const Value& item : page.value().items)
      out.emplace_back(wire::string_at(item, "/metadata/name"));
    return out;
  }

  JumpingTasks tasks_;
  ScriptedApi api_;
  Client client_{api_, fixed_config("https://api:6443", {})};
  const Context context_{.tasks = tasks_};
};

TEST_F(ScriptedApiTest, KeepsWhatIsMadeOnceUnderNewVersions) {
  const Result<Value> made = client_.create(context_, types::kPod, pod("room-0"));
  ASSERT_TRUE(made);
  EXPECT_EQ(client_.create(context_, types::kPod, pod("room-0")).error().code,
            Code::already_exists);
  const Result<Value> patched =
      patch(PatchType::merge, Object{{"metadata", Object{{"labels", Object{{"app", "hall"}}}}}});
  ASSERT_TRUE(patched);
  EXPECT_EQ(app(), "hall");
  EXPECT_NE(wire::string_at(*made, "/metadata/resourceVersion"),
            wire::string_at(*patched, "/metadata/resourceVersion"));
  EXPECT_EQ(client_.get(context_, types::kPod, kRoom).value(), *patched);
  EXPECT_EQ(client_.get(context_, types::kPod, {"games", "room-1"}).error().code, Code::not_found);
  EXPECT_THAT(api_.writes(), ElementsAre("POST pods", "POST pods", "PATCH pods/room-0"));
}

TEST_F(ScriptedApiTest, ATestThatFailsWritesNothing) {
  api_.put(types::kPod, pod("room-0"));
  const auto change = [](std::string_view expected) {
    return Array{Object{{"op", "test"}, {"path", "/metadata/labels/app"}, {"value", expected}},
                 Object{{"op", "replace"}, {"path", "/metadata/labels/app"}, {"value", "hall"}}};
  };
  EXPECT_EQ(patch(PatchType::json, change("lobby")).error().code, Code::precondition);
  EXPECT_EQ(app(), "room");
  EXPECT_TRUE(patch(PatchType::json, change("room")));
  EXPECT_EQ(app(), "hall");
}

TEST_F(ScriptedApiTest, AnotherUidOrVersionIsAConflict) {
  api_.put(types::kPod, pod("room-0"));
  EXPECT_EQ(patch(PatchType::merge, Object{{"metadata", Object{{"uid", "another"}}}}).error().code,
            Code::conflict);
  EXPECT_EQ(client_.remove(context_, types::kPod, kRoom, {.uid = "another"}).error().code,
            Code::precondition);
  EXPECT_EQ(client_.remove(context_, types::kPod, kRoom, {.resource_version = "1"}).error().code,
            Code::precondition);
  EXPECT_TRUE(client_.remove(context_, types::kPod, kRoom));
  EXPECT_EQ(api_.find(types::kPod, kRoom), nullptr);
}

TEST_F(ScriptedApiTest, AFinalizerHoldsWhatIsDeleted) {
  Value held = pod("room-0");
  ASSERT_TRUE(wire::set_at(held, "/metadata/finalizers", Array{"berth"}));
  api_.put(types::kPod, held);
  ASSERT_TRUE(client_.remove(context_, types::kPod, kRoom));
  ASSERT_NE(api_.find(types::kPod, kRoom), nullptr);
  EXPECT_NE(wire::find(*api_.find(types::kPod, kRoom), "/metadata/deletionTimestamp"), nullptr);
  ASSERT_TRUE(
      patch(PatchType::json, Array{Object{{"op", "remove"}, {"path", "/metadata/finalizers"}}}));
  EXPECT_EQ(api_.find(types::kPod, kRoom), nullptr);
}

TEST_F(ScriptedApiTest, ListsByNamespaceAndLabels) {
  api_.put(types::kPod, pod("room-0"));
  api_.put(types::kPod, pod("lobby-0", "lobby"));
  EXPECT_THAT(listed(""), ElementsAre("lobby-0", "room-0"));
  EXPECT_THAT(listed("", ""), ElementsAre("lobby-0", "room-0"));
  EXPECT_THAT(listed("", "elsewhere"), ElementsAre());
  EXPECT_THAT(listed("app=room,at/home"), ElementsAre("room-0"));
  EXPECT_THAT(listed("!app"), ElementsAre());
  EXPECT_THAT(listed("!level,app=lobby"), ElementsAre("lobby-0"));
}

TEST_F(ScriptedApiTest, ChosenCallsMeetTheirFate) {
  const Object hall{{"metadata", Object{{"labels", Object{{"app", "hall"}}}}}};
  api_.put(types::kPod, pod("room-0"));
  api_.on({"PATCH", "pods/room-0", 2}, {.refused = 503});
  EXPECT_TRUE(patch(PatchType::merge, hall));
  EXPECT_EQ(patch(PatchType::merge, hall).error().code, Code::unavailable);
  EXPECT_TRUE(patch(PatchType::merge, hall));

  api_.put(types::kPod, pod("room-0"));
  api_.on({"PATCH", "pods"}, {.lost_before = true});
  EXPECT_EQ(patch(PatchType::merge, hall).error().code, Code::timeout);
  EXPECT_EQ(app(), "room");
  api_.on({"PATCH", "pods"}, {.lost_after = true});
  EXPECT_EQ(patch(PatchType::merge, hall).error().code, Code::timeout);
  EXPECT_EQ(app(), "hall");
}

TEST_F(ScriptedApiTest, AnAnswerThatIsLateIsNone) {
  api_.put(types::kPod, pod("room-0"));
  api_.on({"DELETE", "pods"}, {.late = 5s});
  EXPECT_EQ(client_.remove(context_.within(1s), types::kPod, kRoom).error().code, Code::timeout);
  EXPECT_EQ(api_.find(types::kPod, kRoom), nullptr) << "but its effect is there";
  EXPECT_FALSE(client_.create(Context{.tasks = tasks_, .deadline = tasks_.now()}, types::kPod,
                              pod("room-0")));
  EXPECT_EQ(api_.find(types::kPod, kRoom), nullptr) << "what is given up is not sent";
}

}  // namespace
}  // namespace berth::kube::testing
