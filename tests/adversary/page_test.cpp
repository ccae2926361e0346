// The table of docs/security.md is the table that is played.

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "attack.h"
#include "base/file.h"

namespace berth::adversary {
namespace {

constexpr std::size_t kMaxPage = 1u << 20;

std::string line_of(const Attack& attack) {
  return fmt::format("| {} | {} | {} |", attack.who, attack.what, attack.must);
}

TEST(SecurityPage, HasEveryAttackAndNoOther) {
  const char* source = std::getenv("BERTH_SOURCE_DIR");
  const auto page = read_file(std::string(source ? source : ".") + "/docs/security.md", kMaxPage);
  ASSERT_TRUE(page) << page.error().to_string();
  std::string table = "| Who | What | What happens |\n|---|---|---|\n";
  for (const Attack& attack : all_attacks()) table += line_of(attack) + "\n";
  EXPECT_NE(page->find(table + "\n"), std::string::npos) << "the table should be:\n" << table;
}

TEST(SecurityPage, AttacksHaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const Attack& attack : all_attacks())
    EXPECT_TRUE(names.insert(attack.name).second) << attack.name;
  EXPECT_GE(names.size(), 45u);
}

}  // namespace
}  // namespace berth::adversary
