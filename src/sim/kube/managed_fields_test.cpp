#include "sim/kube/managed_fields.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "sim/kube/test_client.h"

namespace berth::sim::kube {
namespace {

constexpr std::string_view kStrategicPatch = "application/strategic-merge-patch+json";

class Ownership : public ::testing::Test {
 protected:
  Got apply(std::string_view manager, std::string_view data, std::string_view more = "") {
    return kube.patch(
        path(kConfigMaps, fmt::format("/a?fieldManager={}{}", manager, more)),
        fmt::format(
            R"({{"apiVersion":"v1","kind":"ConfigMap","metadata":{{"name":"a"}},"data":{}}})",
            data),
        kApplyPatch);
  }
  Got update(std::string_view manager, std::string body,
             std::string_view type = "application/merge-patch+json") {
    return kube.patch(path(kConfigMaps, fmt::format("/a?fieldManager={}", manager)),
                      std::move(body), type);
  }

  TestServer kube;
};

// "Apply one {...}; Update two/status {...}"
std::string owners(const Got& got) {
  std::string text;
  const wire::Array* list = wire::array_at(got.body, "/metadata/managedFields");
  for (const wire::Value& entry : list == nullptr ? wire::Array{} : *list) {
    text +=
        fmt::format("{}{} {}{} {}", text.empty() ? "" : "; ", wire::string_at(entry, "/operation"),
                    wire::string_at(entry, "/manager"), wire::string_at(entry, "/subresource"),
                    wire::to_json(*wire::find(entry, "/fieldsV1")));
  }
  return text;
}

TEST_F(Ownership, IsToldByManagerOrUserAgent) {
  EXPECT_EQ(manager_name("me", "agent/1"), "me");
  EXPECT_EQ(manager_name("", "agent/1 (x)"), "agent");
  EXPECT_EQ(manager_name("", "a\tb/1"), "ab");
  EXPECT_EQ(manager_name("", ""), "unknown");
  EXPECT_EQ(manager_name("", std::string(200, 'x')).size(), kMaxManagerBytes);
}

TEST_F(Ownership, OfAnAppliedFieldEndsWithTheConfiguration) {
  EXPECT_EQ(apply("one", R"({"k":"v","l":"w"})").status, 201);
  const Got less = apply("one", R"({"k":"v"})");
  EXPECT_EQ(less.at("/data"), R"({"k":"v"})");
  EXPECT_EQ(owners(less), R"(Apply one {"f:data":{"f:k":{}}})");
}

TEST_F(Ownership, IsContestedUnlessForced) {
  apply("one", R"({"k":"v"})");
  const Got refused = apply("two", R"({"k":"w"})");
  EXPECT_EQ(refused.status, 409);
  EXPECT_EQ(refused.at("/message"),
            R"(Apply failed with 1 conflict: conflict with "one": .data.k)");
  EXPECT_EQ(refused.at("/details/causes/0/reason"), "FieldManagerConflict");
  const Got forced = apply("two", R"({"k":"w"})", "&force=true");
  EXPECT_EQ(forced.at("/data/k"), "w");
  EXPECT_EQ(owners(forced), R"(Apply two {"f:data":{"f:k":{}}})");
}

TEST_F(Ownership, ChangesNothingWhenAppliedTwice) {
  const Got once = apply("one", R"({"k":"v"})");
  kube.now += std::chrono::hours{1};
  const Got twice = apply("one", R"({"k":"v"})");
  EXPECT_EQ(once.text, twice.text);
}

TEST_F(Ownership, OfUpdatesMovesWithEachWrite) {
  kube.config_map("a");
  const Got changed = update("two", R"({"data":{"k":"w","l":"x"}})");
  EXPECT_EQ(owners(changed),
            R"(Update two {"f:data":{"f:k":{},"f:l":{}}}; Update unknown {"f:data":{}})");
  const Got removed = update("three", R"({"data":{"l":null}})");
  EXPECT_EQ(owners(removed), R"(Update two {"f:data":{"f:k":{}}}; Update unknown {"f:data":{}})");
}

TEST_F(Ownership, KeepsItsTimeWhileNothingIsGained) {
  kube.config_map("a");
  const Got before = update("two", R"({"data":{"l":"x"}})");
  kube.now += std::chrono::hours{1};
  EXPECT_EQ(update("two", R"({"data":{"l":"x"}})").text, before.text);
  const Got after = update("two", R"({"data":{"l":"y"}})");
  EXPECT_NE(after.at("/metadata/managedFields/1/time"),
            before.at("/metadata/managedFields/1/time"));
}

TEST_F(Ownership, SurvivesClientsThatDoNotKnowIt) {
  apply("one", R"({"k":"v"})");
  const Got put =
      kube.put(path(kConfigMaps, "/a"), R"({"metadata":{"name":"a"},"data":{"k":"v"}})");
  EXPECT_EQ(owners(put), R"(Apply one {"f:data":{"f:k":{}}})");
  const Got text = kube.put(path(kConfigMaps, "/a"),
                            R"({"metadata":{"name":"a","managedFields":"x"},"data":{"k":"v"}})");
  EXPECT_EQ(owners(text), R"(Apply one {"f:data":{"f:k":{}}})");
}

TEST_F(Ownership, IsClearedOnDemand) {
  for (const char* none : {"[]", "[{}]"}) {
    apply("one", R"({"k":"v"})");
    EXPECT_EQ(owners(update("two", fmt::format(R"({{"metadata":{{"managedFields":{}}}}})", none))),
              "");
  }
}

TEST_F(Ownership, CanBeEditedInAJsonPatch) {
  apply("one", R"({"k":"v"})");
  apply("two", R"({"l":"w"})");
  const Got edited = update("x", R"([{"op":"remove","path":"/metadata/managedFields/0"}])",
                            "application/json-patch+json");
  EXPECT_EQ(owners(edited), R"(Apply two {"f:data":{"f:l":{}}})");
}

TEST_F(Ownership, OfStatusIsApart) {
  kube.post(kPods, R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}})");
  const Got got = kube.patch(path(kPods, "/p/status?fieldManager=kubelet"),
                             R"({"status":{"message":"m"},"spec":{"nodeName":"n"}})");
  EXPECT_NE(owners(got).find(R"(Update kubeletstatus {"f:status":{"f:message":{}}})"),
            std::string::npos)
      << owners(got);
}

TEST_F(Ownership, IsNotOfWhatAdmissionAdds) {
  const Got pod = kube.post(
      kPods, R"({"metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}})");
  EXPECT_EQ(pod.at("/spec/priority"), "0");
  EXPECT_EQ(owners(pod).find("f:priority"), std::string::npos);
  EXPECT_NE(owners(pod).find("f:dnsPolicy"), std::string::npos);
}

TEST_F(Ownership, IsShownInListsAndWatches) {
  apply("one", R"({"k":"v"})");
  const Got watch = kube.get(path(kConfigMaps, "?watch=true"));
  const std::string entry = R"("fieldsV1":{"f:data":{"f:k":{}}}})";
  EXPECT_NE(kube.get(kConfigMaps).text.find(entry), std::string::npos);
  EXPECT_NE(wire::to_json(read_events(watch).list.at(0)).find(entry), std::string::npos);
}

TEST_F(Ownership, IsReportedByADryRunThatStoresNothing) {
  apply("one", R"({"k":"v"})");
  const Got dry = apply("two", R"({"k":"w"})", "&force=true&dryRun=All");
  EXPECT_EQ(owners(dry), R"(Apply two {"f:data":{"f:k":{}}})");
  EXPECT_EQ(kube.get(path(kConfigMaps, "/a")).at("/data/k"), "v");
  EXPECT_EQ(update("x", R"({"data":{"k":"z"}})", kStrategicPatch).at("/data/k"), "z");
}

}  // namespace
}  // namespace berth::sim::kube
