#include "kube/client/retry.h"

#include <gtest/gtest.h>

namespace berth::kube {
namespace {

using namespace std::chrono_literals;

TEST(Retry, DecidesByStatusMethodAndCount) {
  struct Case {
    std::string_view name;
    Attempt attempt;
    std::optional<Duration> want;
  };
  const Case cases[] = {
      {"success", {.is_read = true, .status = 200}, {}},
      {"read, throttled", {.is_read = true, .status = 429, .retry_after = 3s}, 3s},
      {"write, throttled", {.is_read = false, .status = 429, .retry_after = 3s}, 3s},
      {"write, turned away", {.is_read = false, .status = 503, .retry_after = 1s}, 1s},
      {"write, fate open", {.is_read = false, .status = 500, .retry_after = 1s}, {}},
      {"write, fate open at a gateway", {.is_read = false, .status = 504, .retry_after = 1s}, {}},
      {"read, 500", {.is_read = true, .status = 500, .retry_after = 1s}, 1s},
      {"no Retry-After", {.is_read = true, .status = 503}, {}},
      {"a client's error", {.is_read = true, .status = 409, .retry_after = 1s}, {}},
      {"a version of the future",
       {.is_read = true, .status = 504, .code = Code::too_new, .retry_after = 1s},
       {}},
      {"read, connection lost", {.is_read = true, .code = Code::unavailable}, 1s},
      {"read, lost too often",
       {.is_read = true, .code = Code::unavailable, .made_before = kMaxReconnects},
       {}},
      {"write, connection lost", {.is_read = false, .code = Code::unavailable}, {}},
      {"read, out of time", {.is_read = true, .code = Code::timeout}, {}},
      {"read, stopping", {.is_read = true, .code = Code::stopped}, {}},
      {"enough", {.is_read = true, .status = 429, .retry_after = 1s, .made_before = 10}, {}},
      {"not yet enough", {.is_read = true, .status = 429, .retry_after = 1s, .made_before = 9}, 1s},
  };
  for (const Case& c : cases) EXPECT_EQ(pause_before_retry(c.attempt, 10), c.want) << c.name;
}

}  // namespace
}  // namespace berth::kube
