#include "base/time.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

using namespace std::chrono_literals;

constexpr WallTime kMoment =
    std::chrono::sys_days{std::chrono::year{2026} / 1 / 2} + 3h + 4min + 5s + 6us;

TEST(Time, FormatsAsKubernetesDoes) {
  EXPECT_EQ(format_rfc3339(kMoment), "2026-01-02T03:04:05Z");
  EXPECT_EQ(format_rfc3339_micro(kMoment), "2026-01-02T03:04:05.000006Z");
  EXPECT_EQ(format_rfc3339(WallTime{}), "1970-01-01T00:00:00Z");
  EXPECT_EQ(format_rfc3339_micro(WallTime{-1us}), "1969-12-31T23:59:59.999999Z");
}

TEST(Time, ReadsWhatOthersWrite) {
  const WallTime whole = kMoment - 6us;
  EXPECT_EQ(parse_rfc3339("2026-01-02T03:04:05Z").value(), whole);
  EXPECT_EQ(parse_rfc3339("2026-01-02t03:04:05z").value(), whole);
  EXPECT_EQ(parse_rfc3339("2026-01-02T03:04:05.000006Z").value(), kMoment);
  EXPECT_EQ(parse_rfc3339("2026-01-02T03:04:05.5Z").value(), whole + 500ms);
  EXPECT_EQ(parse_rfc3339("2026-01-02T03:04:05.123456789Z").value(), whole + 123456789ns);
  EXPECT_EQ(parse_rfc3339("2026-01-02T08:34:05+05:30").value(), whole);
  EXPECT_EQ(parse_rfc3339("2026-01-01T23:04:05-04:00").value(), whole);
  EXPECT_EQ(parse_rfc3339("2024-02-29T00:00:00Z").value(),
            std::chrono::sys_days{std::chrono::year{2024} / 2 / 29});
  // A leap second is the first moment of the next minute.
  EXPECT_EQ(parse_rfc3339("2016-12-31T23:59:60Z").value(),
            std::chrono::sys_days{std::chrono::year{2017} / 1 / 1});
}

TEST(Time, RefusesTheRestAndSaysWhatItFound) {
  for (const char* text : {"",
                           "now",
                           "2026-01-02",
                           "2026-01-02T03:04:05",
                           "2026-01-02 03:04:05Z",
                           "2026-01-02T03:04:05Zx",
                           "2026-1-2T03:04:05Z",
                           "2026-02-29T00:00:00Z",
                           "2026-13-01T00:00:00Z",
                           "2026-00-01T00:00:00Z",
                           "2026-01-32T00:00:00Z",
                           "2026-01-02T24:00:00Z",
                           "2026-01-02T03:60:00Z",
                           "2026-01-02T03:04:61Z",
                           "2026-01-02T03:04:05.Z",
                           "2026-01-02T03:04:05.1234567890Z",
                           "2026-01-02T03:04:05+24:00",
                           "2026-01-02T03:04:05+0530",
                           "-026-01-02T03:04:05Z",
                           "2026--1-02T03:04:05Z",
                           "2026-01-02T+3:04:05Z",
                           "1677-01-01T00:00:00Z",
                           "2262-01-01T00:00:00Z",
                           "9999-12-31T23:59:59Z"}) {
    const auto parsed = parse_rfc3339(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_EQ(parsed.error().message, fmt::format("'{}' is not an RFC 3339 time", text));
  }
}

TEST(Time, SaturatingAddHoldsAtNever) {
  const Instant start{1s};
  EXPECT_EQ(saturating_add(start, 2s), Instant{3s});
  EXPECT_EQ(saturating_add(start, -1s), Instant{0s});
  EXPECT_EQ(saturating_add(start, Duration::max()), kNever);
  EXPECT_EQ(saturating_add(kNever, 1ns), kNever);
  EXPECT_EQ(saturating_add(kNever, 0ns), kNever);
  EXPECT_EQ(saturating_add(kNever - 5ns, 5ns), kNever);
  EXPECT_EQ(saturating_add(kNever - 5ns, 4ns), kNever - 1ns);
}

TEST(Time, SecondsKeepTheirFraction) { EXPECT_DOUBLE_EQ(to_seconds(1500ms), 1.5); }

}  // namespace
}  // namespace berth
