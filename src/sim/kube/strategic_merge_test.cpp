#include "sim/kube/strategic_merge.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace berth::sim::kube {
namespace {

ServedKind served(std::string_view kind) {
  const Kinds kinds;
  for (const KindPtr& one : kinds.all()) {
    if (one->kind == kind) return {one, &one->versions.front()};
  }
  return {};
}

std::string merged(std::string_view kind, std::string_view object, std::string_view patch) {
  Outcome<wire::Value> result = strategic_merge(wire::parse_json(object).value(),
                                                wire::parse_json(patch).value(), served(kind));
  return result ? wire::to_json(*result) : result.error().message;
}

TEST(StrategicMerge, MergesKeyedListsAndKeepsTheirOrder) {
  EXPECT_EQ(
      merged("Pod", R"({"spec":{"containers":[{"name":"a","image":"1"},{"name":"b"}]}})",
             R"({"spec":{"containers":[{"name":"b","image":"2"},{"name":"c"}]}})"),
      R"({"spec":{"containers":[{"name":"a","image":"1"},{"name":"b","image":"2"},{"name":"c"}]}})");
}

TEST(StrategicMerge, ReplacesListsWithoutAKey) {
  EXPECT_EQ(merged("Pod", R"({"spec":{"tolerations":[{"key":"a"}]}})",
                   R"({"spec":{"tolerations":[{"key":"b"}]}})"),
            R"({"spec":{"tolerations":[{"key":"b"}]}})");
}

TEST(StrategicMerge, PortsAreKeyedByWhereTheyAre) {
  EXPECT_EQ(merged("Service", R"({"spec":{"ports":[{"port":1,"name":"a"}]}})",
                   R"({"spec":{"ports":[{"port":1,"name":"b"}]}})"),
            R"({"spec":{"ports":[{"port":1,"name":"b"}]}})");
  EXPECT_EQ(merged("Endpoints", R"({"subsets":[{"ports":[{"port":1,"name":"a"}]}]})",
                   R"({"subsets":[{"ports":[{"port":2}]}]})"),
            R"({"subsets":[{"ports":[{"port":2}]}]})");
}

TEST(StrategicMerge, Directives) {
  const char* object = R"({"metadata":{"finalizers":["a","b"],"labels":{"x":"1","y":"2"}}})";
  EXPECT_EQ(merged("Pod", object, R"({"metadata":{"$deleteFromPrimitiveList/finalizers":["a"]}})"),
            R"({"metadata":{"finalizers":["b"],"labels":{"x":"1","y":"2"}}})");
  EXPECT_EQ(merged("Pod", object, R"({"metadata":{"$setElementOrder/finalizers":["b","a"]}})"),
            R"({"metadata":{"finalizers":["b","a"],"labels":{"x":"1","y":"2"}}})");
  EXPECT_EQ(merged("Pod", object, R"({"metadata":{"labels":{"$patch":"replace","z":"3"}}})"),
            R"({"metadata":{"finalizers":["a","b"],"labels":{"z":"3"}}})");
  EXPECT_EQ(merged("Pod", object, R"({"metadata":{"labels":{"$retainKeys":["y"],"y":"4"}}})"),
            R"({"metadata":{"finalizers":["a","b"],"labels":{"y":"4"}}})");
  EXPECT_EQ(merged("Pod", object, R"({"metadata":{"labels":{"$retainKeys":["x"],"y":"4"}}})"),
            "invalid patch format of retainKeys");
}

TEST(StrategicMerge, NamesAnElementWithoutItsKey) {
  EXPECT_EQ(merged("Pod", R"({"spec":{"containers":[{"name":"a"}]}})",
                   R"({"spec":{"containers":[{"image":"x","ports":[1,true,null]}]}})"),
            "map: map[image:x ports:[1 true <nil>]] does not contain declared merge key: name");
}

}  // namespace
}  // namespace berth::sim::kube
