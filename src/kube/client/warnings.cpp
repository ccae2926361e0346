#include "kube/client/warnings.h"

#include "kube/client/status.h"

namespace berth::kube {
namespace {

// The quoted string at the beginning of `rest`, which moves past it.
std::string take_quoted(std::string_view& rest) {
  std::string text;
  rest.remove_prefix(1);
  while (!rest.empty() && rest.front() != '"') {
    if (rest.front() == '\\' && rest.size() > 1) rest.remove_prefix(1);
    text += rest.front();
    rest.remove_prefix(1);
  }
  if (!rest.empty()) rest.remove_prefix(1);
  return text;
}

}  // namespace

std::vector<std::string> parse_warning(std::string_view header) {
  std::vector<std::string> texts;
  // Code and agent hold no quotes, and of the dates that may follow a text only the text counts.
  for (;;) {
    const std::size_t quote = header.find('"');
    if (quote == std::string_view::npos) return texts;
    const bool after_agent = header.substr(0, quote).find("299 ") != std::string_view::npos;
    header.remove_prefix(quote);
    std::string text = printable(take_quoted(header), kMaxStatusMessage);
    if (after_agent && !text.empty()) texts.push_back(std::move(text));
  }
}

bool WarningLog::is_new(const std::string& text) {
  const MutexLock lock(mu_);
  if (seen_.size() >= kMaxRememberedWarnings && !seen_.contains(text)) seen_.clear();
  return seen_.insert(text).second;
}

void WarningLog::note(const net::Headers& headers, const LogFields& fields) {
  for (const std::string_view header : headers.all("Warning")) {
    for (const std::string& text : parse_warning(header)) {
      if (is_new(text)) log_warn("API server: " + text, fields);
    }
  }
}

}  // namespace berth::kube
