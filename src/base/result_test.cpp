#include "base/result.h"

#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "base/strong_id.h"

namespace berth {
namespace {

Result<int> parse_port(std::string_view text) {
  if (text == "80") return 80;
  return fail(Code::invalid, "port '{}' is not 1-65535", text);
}

TEST(Result, CarriesAValueOrAnError) {
  EXPECT_EQ(parse_port("80").value(), 80);
  const auto bad = parse_port("70000");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().code, Code::invalid);
  EXPECT_EQ(bad.error().message, "port '70000' is not 1-65535");
}

TEST(Result, AnErrorIsPassedOnWhole) {
  const auto outer = []() -> Result<std::string> {
    auto port = parse_port("x");
    if (!port) return pass(port);
    return "unreached";
  }();
  ASSERT_FALSE(outer);
  EXPECT_EQ(outer.error().message, "port 'x' is not 1-65535");
}

TEST(Result, OfNothingSucceedsByDefault) {
  const Result<> done;
  EXPECT_TRUE(done);
}

TEST(Error, ReadsInOneLine) {
  EXPECT_EQ(error_of(Code::not_found, "no such pool").to_string(), "not_found: no such pool");
  Error error = error_of(Code::invalid, "{} is taken", 8080)
                    .about("PortPool games/eu")
                    .at("spec.poolItems[0].startPort")
                    .with_hint("choose another")
                    .because(error_of(Code::forbidden, "not allowed"));
  error.request_id = "r-1";
  EXPECT_EQ(error.to_string(),
            "invalid: PortPool games/eu: spec.poolItems[0].startPort: 8080 is taken (request r-1) "
            "(hint: choose another): caused by forbidden: not allowed");
}

TEST(CodeTraits, SayWhatACallerMayDo) {
  for (const Code again : {Code::conflict, Code::throttled, Code::unavailable, Code::timeout,
                           Code::expired, Code::exhausted})
    EXPECT_TRUE(is_retryable({.code = again})) << traits_of(again).name;
  for (const Code never : {Code::invalid, Code::not_found, Code::already_exists, Code::precondition,
                           Code::unsupported, Code::stopped})
    EXPECT_FALSE(is_retryable({.code = never})) << traits_of(never).name;
  EXPECT_EQ(traits_of(Code::not_found).http_status, 404);
  EXPECT_EQ(traits_of(Code::conflict).http_status, 409);
  EXPECT_EQ(traits_of(Code::precondition).http_status, 422);
  EXPECT_EQ(traits_of(Code::throttled).http_status, 429);
}

TEST(CodeTraits, EachCodeHasItsOwnNameAndAnErrorStatus) {
  std::set<std::string_view> names;
  constexpr int kCodes = static_cast<int>(Code::internal) + 1;
  for (int i = 0; i < kCodes; ++i) {
    const CodeTraits& traits = traits_of(static_cast<Code>(i));
    names.insert(traits.name);
    EXPECT_GE(traits.http_status, 400) << traits.name;
    EXPECT_LE(traits.http_status, 599) << traits.name;
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(kCodes));
}

using LoadBalancerId = StrongId<struct LoadBalancerTag>;
using ListenerId = StrongId<struct ListenerTag>;
static_assert(!std::is_convertible_v<LoadBalancerId, ListenerId>);
static_assert(!std::is_convertible_v<std::string, ListenerId>);

TEST(StrongId, ComparesAndHashesByItsText) {
  EXPECT_EQ(LoadBalancerId("lb-1"), LoadBalancerId("lb-1"));
  EXPECT_LT(LoadBalancerId("lb-1"), LoadBalancerId("lb-2"));
  EXPECT_EQ(std::hash<LoadBalancerId>{}(LoadBalancerId("lb-1")),
            std::hash<LoadBalancerId>{}(LoadBalancerId("lb-1")));
  EXPECT_TRUE(LoadBalancerId().empty());
}

TEST(StrongId, IsWrittenAsItsText) {
  const LoadBalancerId id("lb-1");
  EXPECT_EQ(fmt::format("[{}]", id), "[lb-1]");
  EXPECT_EQ(fmt::format("[{:>6}]", id), "[  lb-1]");
  EXPECT_EQ(fmt::format("[{}]", LoadBalancerId()), "[]");
  std::ostringstream out;
  out << id;
  EXPECT_EQ(out.str(), "lb-1");
  EXPECT_EQ(::testing::PrintToString(id), "lb-1");
}

}  // namespace
}  // namespace berth
