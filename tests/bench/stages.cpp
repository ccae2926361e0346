// How long each stage of a build took when it last ran here, beside the time that CI has for all.

#include <algorithm>
#include <charconv>

#include "base/file.h"
#include "bench.h"

namespace berth::bench {
namespace {

const std::filesystem::path kFolder = "build/stages";  // written by tools/stage
constexpr double kCiSeconds = 90 * 60;

Result<std::vector<Line>> stages(Environment&) {
  std::vector<Line> lines;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder, none)) {
    const Result<std::string> text = read_file(entry.path(), 64);
    if (!text) return fail(text.error());
    double seconds = 0;
    std::from_chars(text->data(), text->data() + text->size(), seconds);
    lines.push_back({"stage-" + entry.path().filename().string(),
                     "the stage's last run here, beside the time that CI has for all of them",
                     seconds, kCiSeconds, "s", "lower"});
  }
  if (lines.empty()) return fail(Code::not_found, "no stage has run yet: make test runs them");
  std::ranges::sort(lines, {}, &Line::name);
  return lines;
}

}  // namespace

std::vector<Bench> stage_benches() { return {{{"stages"}, stages}}; }

}  // namespace berth::bench
