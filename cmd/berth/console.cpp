#include "console.h"

#include <boost/json.hpp>
#include <cstdio>

namespace berth::cmd {

Story::Story(Output output) : output_(output), last_(std::chrono::steady_clock::now()) {}

void Story::step(const std::string& text) {
  const auto now = std::chrono::steady_clock::now();
  const double seconds = std::chrono::duration<double>(now - last_).count();
  last_ = now;
  steps_.push_back(wire::Object{{"step", text}, {"seconds", seconds}});
  if (output_ == Output::json) return;
  std::printf("  ok  %6.3f s  %s\n", seconds, text.c_str());
  std::fflush(stdout);
}

void Story::end(const Result<>& result, const wire::Object& facts) {
  if (output_ != Output::json) return;
  wire::Object out{{"passed", result.has_value()}, {"steps", steps_}};
  for (const auto& fact : facts) out[fact.key()] = fact.value();
  if (!result) out["error"] = result.error().to_string();
  std::puts(wire::to_json(out).c_str());
}

}  // namespace berth::cmd
