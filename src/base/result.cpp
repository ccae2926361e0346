#include "base/result.h"

#include <array>

namespace berth {

const CodeTraits& traits_of(Code code) {
  // In the order of the enum.
  static constexpr std::array<CodeTraits, 16> kTraits{{
      {"invalid", false, 400, 2},
      {"not_found", false, 404, 3},
      {"already_exists", false, 409, 4},
      {"conflict", true, 409, 4},
      {"precondition", false, 422, 4},
      {"expired", true, 410, 5},
      {"too_new", true, 504, 5},
      {"throttled", true, 429, 5},
      {"unavailable", true, 503, 5},
      {"timeout", true, 504, 5},
      {"unauthorized", true, 401, 6},
      {"forbidden", true, 403, 6},
      {"exhausted", true, 507, 7},
      {"unsupported", false, 501, 2},
      {"stopped", false, 503, 0},
      {"internal", true, 500, 1},
  }};
  static_assert(static_cast<std::size_t>(Code::internal) + 1 == kTraits.size());
  return kTraits.at(static_cast<std::size_t>(code));
}

std::string Error::to_string() const {
  std::string out(traits_of(code).name);
  for (const std::string* part : {&object, &field, &message}) {
    if (!part->empty()) {
      out += ": ";
      out += *part;
    }
  }
  if (!request_id.empty()) out += fmt::format(" (request {})", request_id);
  if (!hint.empty()) out += fmt::format(" (hint: {})", hint);
  if (cause) out += ": caused by " + cause->to_string();
  return out;
}

}  // namespace berth
