#include "api/go_duration.h"

#include <gtest/gtest.h>

namespace berth::api {
namespace {

using namespace std::chrono_literals;

TEST(GoDuration, ReadsWhatGoReads) {
  const auto read = [](std::string_view text) { return parse_go_duration(text).value(); };
  EXPECT_EQ(read("5m"), Duration(5min));
  EXPECT_EQ(read("2h45m"), Duration(165min));
  EXPECT_EQ(read("1.5h"), Duration(90min));
  EXPECT_EQ(read(".5s"), Duration(500ms));
  EXPECT_EQ(read("1.s"), Duration(1s));
  EXPECT_EQ(read("3ms4us5\u00b5s6\u03bcs7ns"), Duration(3ms + 15us + 7ns));
  EXPECT_EQ(read("-10s"), Duration(-10s));
  EXPECT_EQ(read("+1m"), Duration(1min));
  EXPECT_EQ(read("0"), Duration::zero());
  EXPECT_EQ(read("2562047h"), Duration(2562047h)) << "nearly the longest";
}

TEST(GoDuration, RefusesTheRestAndQuotesIt) {
  for (const char* bad : {"", "-", "5", "m", ".s", "5 m", "5x", "1d", "5m ", "1h-1m", "2562048h",
                          "99999999999999999999s", "2562047h2562047h"}) {
    const auto result = parse_go_duration(bad);
    ASSERT_FALSE(result) << bad;
    EXPECT_EQ(result.error().message, "'" + std::string(bad) + "' is no duration");
  }
}

TEST(GoDuration, IsWrittenAsPeopleWriteIt) {
  for (const char* text : {"720h", "1m30s", "45s", "2h45m", "1h1s"})
    EXPECT_EQ(format_go_duration(*parse_go_duration(text)), text);
  EXPECT_EQ(format_go_duration(Duration::zero()), "0s");
}

}  // namespace
}  // namespace berth::api
