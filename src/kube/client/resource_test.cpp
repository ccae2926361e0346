#include "kube/client/resource.h"

#include <gtest/gtest.h>

namespace berth::kube {
namespace {

TEST(ResourceType, Paths) {
  struct Case {
    const ResourceType& type;
    std::string_view ns, name, subresource, want;
  };
  const Case cases[] = {
      {types::kPod, "", "", "", "/api/v1/pods"},
      {types::kPod, "games", "", "", "/api/v1/namespaces/games/pods"},
      {types::kPod, "games", "room-0", "", "/api/v1/namespaces/games/pods/room-0"},
      {types::kPod, "games", "room-0", "status", "/api/v1/namespaces/games/pods/room-0/status"},
      {types::kNode, "", "n1", "", "/api/v1/nodes/n1"},
      {types::kNode, "ignored", "n1", "", "/api/v1/nodes/n1"},
      {types::kDeployment, "games", "web", "", "/apis/apps/v1/namespaces/games/deployments/web"},
      {types::kCustomResourceDefinition, "", "a.b", "",
       "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/a.b"},
      {types::kPod, "games", "a/b:c?d", "", "/api/v1/namespaces/games/pods/a%2Fb%3Ac%3Fd"},
  };
  for (const Case& c : cases) EXPECT_EQ(c.type.path(c.ns, c.name, c.subresource), c.want);
}

TEST(ResourceType, ApiVersion) {
  EXPECT_EQ(types::kPod.api_version(), "v1");
  EXPECT_EQ(types::kLease.api_version(), "coordination.k8s.io/v1");
}

TEST(ObjectKey, Text) {
  EXPECT_EQ((ObjectKey{"games", "room-0"}.to_string()), "games/room-0");
  EXPECT_EQ((ObjectKey{"", "node-1"}.to_string()), "node-1");
}

TEST(ResourceVersion, Parse) {
  EXPECT_EQ(parse_resource_version("0").value(), 0u);
  EXPECT_EQ(parse_resource_version("1234567").value(), 1234567u);
  EXPECT_EQ(parse_resource_version("18446744073709551615").value(), 18446744073709551615u);
  for (const std::string_view bad : {"", "01", "00", "-1", "+1", " 1", "1 ", "1a", "0x10", "1.0",
                                     "18446744073709551616", "99999999999999999999999"}) {
    const auto parsed = parse_resource_version(bad);
    ASSERT_FALSE(parsed) << bad;
    EXPECT_EQ(parsed.error().code, Code::invalid) << bad;
  }
}

}  // namespace
}  // namespace berth::kube
