#include "base/fnv.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

// The vectors that its authors publish. Names of objects hang on them.
TEST(Fnv1a, IsWhatOthersCompute) {
  EXPECT_EQ(Fnv1a32().value(), 0x811c9dc5u);
  EXPECT_EQ(Fnv1a32().add("a").value(), 0xe40c292cu);
  EXPECT_EQ(Fnv1a32().add("foobar").value(), 0xbf9cf968u);
  EXPECT_EQ(Fnv1a64().value(), 0xcbf29ce484222325u);
  EXPECT_EQ(Fnv1a64().add("a").value(), 0xaf63dc4c8601ec8cu);
  EXPECT_EQ(Fnv1a64().add("foobar").value(), 0x85944171f73967e8u);
  EXPECT_EQ(Fnv1a64().add("foo").add("bar").value(), Fnv1a64().add("foobar").value());
}

}  // namespace
}  // namespace berth
