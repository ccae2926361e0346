#include "kube/client/warnings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

namespace berth::kube {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class WarningsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    set_log_sink([this](std::string_view line) { lines_.emplace_back(line); });
  }
  void TearDown() override { set_log_sink({}); }
  std::vector<std::string> lines_;
};

TEST(ParseWarning, TakesTheTexts) {
  EXPECT_THAT(parse_warning(R"(299 - "v1beta1 is deprecated")"),
              ElementsAre("v1beta1 is deprecated"));
  EXPECT_THAT(parse_warning(R"(299 - "say \"hi\" \\o", 299 - "two")"),
              ElementsAre(R"(say "hi" \o)", "two"));
  EXPECT_THAT(parse_warning(R"(299 - "dated" "Wed, 21 Oct 2015 07:28:00 GMT")"),
              ElementsAre("dated"));
  for (const std::string_view bad :
       {"", "299", "299 -", "299 - text", R"(199 - "x")", R"(299 - "")"})
    EXPECT_THAT(parse_warning(bad), ElementsAre()) << bad;
}

TEST_F(WarningsTest, LogsEachTextOnce) {
  WarningLog log;
  log.note({{"Warning", R"(299 - "one")"}, {"warning", R"(299 - "two")"}}, {{"object", "x"}});
  log.note({{"Warning", R"(299 - "one")"}}, {});
  ASSERT_THAT(lines_, ElementsAre(HasSubstr("API server: one"), HasSubstr("API server: two")));
  EXPECT_THAT(lines_[0], HasSubstr(R"("object":"x")"));
}

TEST_F(WarningsTest, ForgetsWhenThereAreTooMany) {
  WarningLog log;
  for (std::size_t i = 0; i < kMaxRememberedWarnings; ++i)
    log.note({{"Warning", fmt::format("299 - \"{}\"", i)}}, {});
  log.note({{"Warning", R"(299 - "0")"}}, {});
  EXPECT_EQ(lines_.size(), kMaxRememberedWarnings);
  log.note({{"Warning", R"(299 - "new")"}}, {});
  log.note({{"Warning", R"(299 - "0")"}}, {});
  EXPECT_EQ(lines_.size(), kMaxRememberedWarnings + 2);
}

}  // namespace
}  // namespace berth::kube
