// A regular expression of a schema. Immutable and shared; any thread may match.
//
// Matching needs little stack whatever the text is, so it is safe on fibers (std::regex recurses by
// character).
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace berth::sim::kube {

class Pattern {
 public:
  static Result<Pattern> compile(std::string text);

  // Anywhere in the text, unless the pattern is anchored. A text too hard to decide does not match.
  bool matches(std::string_view text) const;
  const std::string& text() const { return text_; }

 private:
  struct Compiled;
  std::string text_;
  std::shared_ptr<const Compiled> compiled_;
};

}  // namespace berth::sim::kube
