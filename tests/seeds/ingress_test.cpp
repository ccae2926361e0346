// Ingresses as users have them printed, and our own examples and pages of them, pass the rules of
// the kind.

#include <gtest/gtest.h>

#include <algorithm>

#include "api/decode.h"
#include "base/file.h"
#include "seed_page.h"
#include "wire/yaml.h"

namespace berth {
namespace {

namespace fs = std::filesystem;

const model::LoadBalancerDefaults kTencent{model::Provider::tencent, "ap-nanjing"};
const model::LoadBalancerDefaults kEdge{};

void expect_valid(const wire::Value& object, const std::string& where) {
  const auto ingress = api::decode_incoming_ingress(object);
  ASSERT_TRUE(ingress) << where << ": " << ingress.error().to_string();
  for (const auto& defaults : {kTencent, kEdge}) {
    const Result<> valid = api::validate(*ingress, {defaults});
    EXPECT_TRUE(valid) << where << ": " << valid.error().to_string();
  }
}

using Ports = std::vector<api::IngressPorts>;
bool are_side_by_side(const Ports& these, const Ports& those) {
  return std::ranges::none_of(these, [&](const api::IngressPorts& one) {
    return std::ranges::any_of(those, [&](const api::IngressPorts& other) {
      return one.transport == other.transport && one.ports.overlaps(other.ports);
    });
  });
}

// Scenario 9 shows one mapping without the object around it, indented too far after its first line.
std::string completed(const std::string& mapping) {
  std::string spec;
  std::istringstream in(mapping);
  for (std::string line; std::getline(in, line);)
    spec += "  " + (spec.empty() ? line : line.substr(2)) + "\n";
  return "metadata: {name: web, namespace: default, annotations: "
         "{networkextension.bkbcs.tencent.com/lbids: lb-xxxxxxx}}\nspec:\n  portMappings:\n" +
         spec;
}

class IngressPage : public testing::Test {
 protected:
  void SetUp() override {
    const std::string file = find_seed();
    if (file.empty()) GTEST_SKIP() << "no ../shared/seeds beside the sources";
    blocks_ = blocks_of(read_file(file, kMaxPage).value());
  }
  std::vector<SeedBlock> blocks_;
};

TEST_F(IngressPage, EveryIngressIsTaken) {
  int found = 0;
  for (SeedBlock& block : blocks_) {
    const bool is_part = block.text.starts_with("- startPort:");
    if (!is_part && block.text.find("kind: Ingress") == std::string::npos) continue;
    ++found;
    const std::string yaml = is_part ? completed(block.text) : block.text;
    const auto value = wire::parse_yaml(yaml);
    const std::string where = "line " + std::to_string(block.line) + " (" + block.heading + ")";
    ASSERT_TRUE(value) << where << ": " << value.error().to_string() << "\n" << yaml;
    expect_valid(*value, where);
  }
  EXPECT_EQ(found, 13);
}

// The last block has a session with LEAST_CONN, a timeout on a route, ids beside names.
TEST_F(IngressPage, WhatMayDoNothingIsSaid) {
  const auto last = std::find_if(blocks_.rbegin(), blocks_.rend(), [](const SeedBlock& block) {
    return block.text.find("kind: Ingress") != std::string::npos;
  });
  ASSERT_NE(last, blocks_.rend());
  const auto value = wire::parse_yaml(last->text);
  ASSERT_TRUE(value) << value.error().to_string();
  const auto ingress = api::decode_incoming_ingress(*value);
  ASSERT_TRUE(ingress);
  const std::vector<std::string> said = api::warnings_about(*ingress);
  ASSERT_EQ(said.size(), 3u);
  EXPECT_NE(said[0].find("/lbnames]: does nothing beside"), std::string::npos) << said[0];
  EXPECT_NE(said[1].find("sessionTime: 100 may do nothing"), std::string::npos) << said[1];
  EXPECT_NE(said[2].find("timeout: 2 may do nothing"), std::string::npos) << said[2];
}

TEST(IngressExamples, AreTakenWithoutAWarning) {
  const char* const source = std::getenv("BERTH_SOURCE_DIR");
  int found = 0;
  std::vector<api::Ingress> all;
  for (const auto& file :
       fs::directory_iterator(fs::path(source ? source : ".") / "examples/ingress")) {
    if (file.path().extension() != ".yaml") continue;
    const auto objects = wire::parse_yaml_documents(read_file(file.path(), kMaxPage).value());
    ASSERT_TRUE(objects) << file.path() << ": " << objects.error().to_string();
    for (const wire::Value& object : *objects) {
      if (wire::string_at(object, "/kind") != "Ingress") continue;
      ++found;
      expect_valid(object, file.path());
      all.push_back(api::decode_incoming_ingress(object).value());
      EXPECT_EQ(api::warnings_about(all.back()), std::vector<std::string>{}) << file.path();
    }
  }
  EXPECT_EQ(found, 13);
  // They work side by side.
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      EXPECT_TRUE(are_side_by_side(api::ports_of(all[i]), api::ports_of(all[j])))
          << all[i].meta.name << " and " << all[j].meta.name;
}

// People copy from it: what it shows is taken, and is in a file of the folder.
TEST(IngressDocs, ShowWhatTheExamplesHave) {
  const char* const source = std::getenv("BERTH_SOURCE_DIR");
  const fs::path folder = source ? source : ".";
  std::string files;
  for (const auto& file : fs::directory_iterator(folder / "examples/ingress"))
    files += read_file(file.path(), kMaxPage).value() + "\n";
  int found = 0;
  for (const SeedBlock& block :
       blocks_of(read_file(folder / "docs/ingress.md", kMaxPage).value())) {
    if (block.fence != "yaml") continue;
    ++found;
    const auto value = wire::parse_yaml(block.text);
    ASSERT_TRUE(value) << block.line << ": " << value.error().to_string();
    expect_valid(*value, "docs/ingress.md:" + std::to_string(block.line));
    EXPECT_NE(files.find(block.text), std::string::npos) << "docs/ingress.md:" << block.line;
  }
  EXPECT_EQ(found, 13);
}

}  // namespace
}  // namespace berth
