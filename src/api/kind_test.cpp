#include "api/kind.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "api/listener.h"

namespace berth::api {
namespace {

TEST(Kinds, HaveOneVersionUnlessTheySayOtherwise) {
  const wire::Value crd = crd_of(listener_kind());
  ASSERT_EQ(wire::array_at(crd, "/spec/versions")->size(), 1u);
  EXPECT_EQ(wire::bool_at(crd, "/spec/versions/0/storage"), true);
}

// People go on applying what they have; the server warns them.
TEST(Kinds, MayBeServedUnderAFormerVersionToo) {
  KindInfo kind = listener_kind();
  kind.also_served = {{.name = "v1apha1", .deprecated = true}, {.name = "v1beta1"}};
  const wire::Value crd = crd_of(kind);
  ASSERT_EQ(wire::array_at(crd, "/spec/versions")->size(), 3u);
  EXPECT_EQ(wire::string_at(crd, "/spec/versions/0/name"), kind.type.version);
  EXPECT_EQ(wire::string_at(crd, "/spec/versions/1/name"), "v1apha1");
  EXPECT_EQ(wire::bool_at(crd, "/spec/versions/1/served"), true);
  EXPECT_EQ(wire::bool_at(crd, "/spec/versions/1/storage"), false);
  EXPECT_EQ(wire::bool_at(crd, "/spec/versions/1/deprecated"), true);
  EXPECT_FALSE(wire::find(crd, "/spec/versions/2/deprecated"));
  EXPECT_EQ(*wire::find(crd, "/spec/versions/1/schema"),
            *wire::find(crd, "/spec/versions/0/schema"));
}

}  // namespace
}  // namespace berth::api
