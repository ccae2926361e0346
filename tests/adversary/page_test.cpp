// The table of docs/security.md is the table that is played.

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

#include "attack.h"
#include "base/file.h"
#include "support/promise.h"

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

// The suite has a second try, and this has none.
TEST(Verdicts, APortOfTwoRoomsIsABrokenPromise) {
  Room first{.name = "room-0", .ports = {{.load_balancer_ids = {"edge:a"}, .start_port = 31000}}};
  Room second = first;
  second.name = "room-1";
  const auto said = [](const std::vector<Room>& rooms) {
    ::testing::internal::CaptureStdout();
    const bool shared = !shared_ports(rooms).empty();
    const std::string out = ::testing::internal::GetCapturedStdout();
    EXPECT_EQ(shared, out.find(testing::kBrokenPromise) != std::string::npos) << out;
    return shared;
  };
  EXPECT_TRUE(said({first, second}));
  second.finished = true;
  EXPECT_FALSE(said({first, second}));
  second = first;
  second.ports.front().start_port = 31001;
  EXPECT_FALSE(said({first, second}));
}

}  // namespace
}  // namespace berth::adversary
