#include "console.h"

#include <boost/json.hpp>
#include <cstdio>
#include <utility>

namespace berth::cmd {

Story::Story(Output output) : output_(output), last_(std::chrono::steady_clock::now()) {}

double Story::seconds_since_last() {
  const auto now = std::chrono::steady_clock::now();
  return std::chrono::duration<double>(now - std::exchange(last_, now)).count();
}

void Story::step(const std::string& text) {
  const double seconds = seconds_since_last();
  steps_.push_back(wire::Object{{"step", text}, {"seconds", seconds}});
  if (output_ == Output::json) return;
  std::printf("  ok  %6.3f s  %s\n", seconds, text.c_str());
  std::fflush(stdout);
}

void Story::end(const Result<>& result, const wire::Object& facts) {
  if (!result && output_ != Output::json)
    std::printf("  FAILED after %.3f s: %s\n", seconds_since_last(), trying_.c_str());
  if (output_ != Output::json) return;
  wire::Object out{{"passed", result.has_value()}, {"steps", steps_}};
  for (const auto& fact : facts) out[fact.key()] = fact.value();
  if (!result) {
    out["failedStep"] = trying_;
    out["error"] = result.error().to_string();
  }
  std::puts(wire::to_json(out).c_str());
}

}  // namespace berth::cmd
