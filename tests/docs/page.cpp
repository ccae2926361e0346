#include "page.h"

#include <algorithm>
#include <sstream>
#include <string_view>

namespace berth::docs {
namespace {

// Runs of blanks count as one: columns are as wide as their widest entry.
std::string squeezed(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c != ' ' || (!out.empty() && out.back() != ' ')) out += c;
  }
  while (out.ends_with(' ')) out.pop_back();
  return out;
}

bool matches(std::string_view line, std::string_view pattern) {
  const std::size_t gap = pattern.find("...");
  if (gap == std::string_view::npos) return line == pattern;
  if (!line.starts_with(pattern.substr(0, gap))) return false;
  line.remove_prefix(gap);
  pattern.remove_prefix(gap + 3);
  for (std::size_t i = 0; i <= line.size(); ++i) {
    if (matches(line.substr(i), pattern)) return true;
  }
  return false;
}

}  // namespace

bool Step::is_refused() const {
  return std::ranges::any_of(output, [](const std::string& text) {
    return text.find("Error from server") != std::string::npos ||
           text.find(" is invalid:") != std::string::npos || text.starts_with("berth: invalid:") ||
           text.starts_with("  no    ");
  });
}

Page read_page(const std::string& page) {
  Page out;
  std::istringstream in(page);
  std::string text;
  std::string block;  // the language of the one that we are in
  for (int line = 1; std::getline(in, text); ++line) {
    if (text.starts_with("```")) {
      block = text.substr(3);
      if (block == "yaml") out.sheets.push_back({.name = {}, .line = line});
    } else if (block == "console" && text.starts_with("$ ")) {
      out.steps.push_back({.command = text.substr(2), .line = line});
    } else if (block == "console" && !out.steps.empty()) {
      out.steps.back().output.push_back(text);
    } else if (block == "yaml") {
      Sheet& sheet = out.sheets.back();
      if (sheet.text.empty() && text.starts_with("# ") && text.ends_with(".yaml"))
        sheet.name = text.substr(2);
      sheet.text += text + "\n";
    }
  }
  return out;
}

std::string missing_line(const Step& step, const std::string& printed) {
  std::istringstream in(printed);
  std::string line;
  for (const std::string& wanted : step.output) {
    bool found = false;
    while (!found && std::getline(in, line)) found = matches(squeezed(line), squeezed(wanted));
    if (!found) return wanted;
  }
  return {};
}

}  // namespace berth::docs
