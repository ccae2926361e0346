#include "admission/short_workload.h"

#include <gmock/gmock.h>

#include <boost/json.hpp>

namespace berth::admission {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Wants three Pods with ports of two pools, and has two of them.
constexpr std::string_view kShort = R"({
  "metadata": {"name": "lobby", "namespace": "games"},
  "spec": {"replicas": 3, "template": {"metadata": {"annotations": {
    "portpools.networkextension.bkbcs.tencent.com": "true",
    "ports.portpools.networkextension.bkbcs.tencent.com":
      "rooms TCP 8000;halls.shared TCP 8001;rooms UDP 8000"}}}},
  "status": {"replicas": 2}})";

std::vector<std::string> awaited_with(std::string_view pointer, wire::Value value) {
  wire::Value workload = wire::parse_json(kShort).value();
  EXPECT_TRUE(pointer.empty() || wire::set_at(workload, pointer, std::move(value)));
  std::vector<std::string> names;
  for (const kube::ObjectKey& pool : pools_awaited(workload)) names.push_back(pool.to_string());
  return names;
}

TEST(ShortWorkload, WaitsForEachPoolThatItsTemplateNames) {
  EXPECT_THAT(awaited_with("", nullptr), ElementsAre("games/rooms", "shared/halls"));
}

TEST(ShortWorkload, OneThatNobodyHasLookedAtHasNoPods) {
  EXPECT_THAT(awaited_with("/status", wire::Object{}), ElementsAre("games/rooms", "shared/halls"));
}

TEST(ShortWorkload, OneThatHasItsPodsWaitsForNothing) {
  EXPECT_THAT(awaited_with("/status/replicas", 3), IsEmpty());
  EXPECT_THAT(awaited_with("/spec/replicas", 0), IsEmpty());
}

TEST(ShortWorkload, OneThatIsGoingAwayWaitsForNothing) {
  EXPECT_THAT(awaited_with("/metadata/deletionTimestamp", "2026-01-01T00:00:00Z"), IsEmpty());
}

TEST(ShortWorkload, OneThatAsksForNoPortsOrWrongOnesWaitsForNothing) {
  const std::string annotations = "/spec/template/metadata/annotations/";
  EXPECT_THAT(awaited_with(annotations + "portpools.networkextension.bkbcs.tencent.com", "false"),
              IsEmpty());
  EXPECT_THAT(awaited_with(annotations + "ports.portpools.networkextension.bkbcs.tencent.com", "?"),
              IsEmpty());
  EXPECT_THAT(awaited_with("/spec/template", nullptr), IsEmpty());
}

TEST(WorkloadTouch, LeavesOtherConditionsAndReplacesItsOwn) {
  const auto set = wire::parse_json(R"({"metadata": {"resourceVersion": "7"},
      "status": {"replicas": 1, "conditions": [{"type": "Paused", "status": "False"}]}})");
  const wire::Value first = condition_touch(*set, "2026-01-01T00:00:00.000001Z");
  EXPECT_EQ(wire::string_at(first, "/metadata/resourceVersion"), "7");
  EXPECT_EQ(wire::string_at(first, "/status/conditions/0/type"), "Paused");
  EXPECT_EQ(wire::string_at(first, "/status/conditions/1/type"), "berth.dev/retry");
  EXPECT_EQ(wire::string_at(first, "/status/conditions/1/lastTransitionTime"),
            "2026-01-01T00:00:00Z");
  const wire::Value second = condition_touch(first, "2026-01-01T00:00:00.000002Z");
  EXPECT_EQ(wire::array_at(second, "/status/conditions")->size(), 2u);
  EXPECT_NE(first, second) << "one that changes nothing wakes nobody";
}

TEST(WorkloadTouch, OfABuiltInKindIsAnAnnotation) {
  EXPECT_EQ(wire::to_json(annotation_touch("now")),
            R"({"metadata":{"annotations":{"berth.dev/retry":"now"}}})");
}

}  // namespace
}  // namespace berth::admission
