#include "api/kind.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/file.h"
#include "wire/yaml.h"

namespace berth::api {
namespace {

constexpr std::size_t kMaxFile = 1u << 20;

// Users apply the file; the controller installs what the tables say. They must be the same.
TEST(Kinds, TheCrdsInTheRepositoryAreCurrent) {
  const char* source = std::getenv("BERTH_SOURCE_DIR");
  ASSERT_TRUE(source) << "run by ctest";
  const auto file = read_file(std::string(source) + "/deploy/crds/crds.yaml", kMaxFile);
  ASSERT_TRUE(file) << file.error().to_string();
  const auto found = wire::parse_yaml_documents(*file);
  ASSERT_TRUE(found) << found.error().to_string();
  ASSERT_EQ(found->size(), all_kinds().size());
  for (std::size_t i = 0; i < found->size(); ++i) {
    EXPECT_EQ(wire::to_yaml((*found)[i]), wire::to_yaml(crd_of(*all_kinds()[i])))
        << "run: berth crds > deploy/crds/crds.yaml";
  }
}

}  // namespace
}  // namespace berth::api
