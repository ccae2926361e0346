// Warning headers of the API server, each distinct text logged once. Thread-safe.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/mutex.h"
#include "net/http.h"

namespace berth::kube {

// Texts may carry names of objects, so there is no end of distinct ones: past the bound the list
// starts anew.
inline constexpr std::size_t kMaxRememberedWarnings = 1000;

class WarningLog {
 public:
  void note(const net::Headers& headers, const LogFields& fields);

 private:
  bool is_new(const std::string& text);

  Mutex mu_;
  std::set<std::string> seen_ GUARDED_BY(mu_);
};

// The texts of one header (`299 - "text", 299 - "text"`); what is malformed is left out.
std::vector<std::string> parse_warning(std::string_view header);

}  // namespace berth::kube
