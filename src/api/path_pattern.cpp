#include "api/path_pattern.h"

#include <algorithm>
#include <vector>

#include "base/result.h"
#include "base/text.h"

namespace berth::api {
namespace {

// Goes through an expression once. What stands alone, and what needs something before it.
class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  std::optional<std::string> find_fault() {
    while (at_ < text_.size()) {
      if (auto fault = take()) return fault;
    }
    if (open_.empty()) return std::nullopt;
    return fmt::format("its '(' at place {} is not closed", open_.back() + 1);
  }

 private:
  std::optional<std::string> take() {
    const char c = text_[at_];
    switch (c) {
      case '\\':
        if (at_ + 1 == text_.size()) return "it ends with '\\', which says nothing of what follows";
        at_ += 2;
        repeatable_ = true;
        return std::nullopt;
      case '[': return take_class();
      case '(':
        open_.push_back(at_++);
        // "(?:", "(?=" and the like.
        if (at_ < text_.size() && text_[at_] == '?') at_ += 2;
        repeatable_ = false;
        return std::nullopt;
      case ')':
        if (open_.empty()) return fmt::format("its ')' at place {} closes nothing", at_ + 1);
        open_.pop_back();
        ++at_;
        repeatable_ = true;
        return std::nullopt;
      case '*':
      case '+':
      case '?': return take_repetition(at_ + 1);
      case '{': return take_bounds();
      default:
        ++at_;
        repeatable_ = c != '|' && c != '^';
        return std::nullopt;
    }
  }

  std::optional<std::string> take_class() {
    const std::size_t begin = at_++;
    if (at_ < text_.size() && text_[at_] == '^') ++at_;
    if (at_ < text_.size() && text_[at_] == ']') ++at_;  // one of its members
    while (at_ < text_.size() && text_[at_] != ']') at_ += text_[at_] == '\\' ? 2 : 1;
    if (at_ >= text_.size()) return fmt::format("its '[' at place {} is not closed", begin + 1);
    ++at_;
    repeatable_ = true;
    return std::nullopt;
  }

  std::optional<std::string> take_repetition(std::size_t end) {
    if (!repeatable_)
      return fmt::format("its '{}' at place {} repeats nothing", text_[at_], at_ + 1);
    at_ = end;
    if (at_ < text_.size() && (text_[at_] == '?' || text_[at_] == '+')) ++at_;  // lazy, possessive
    repeatable_ = false;
    return std::nullopt;
  }

  std::optional<std::string> take_bounds() {
    const std::size_t end = text_.find('}', at_);
    const std::string_view inside =
        end == std::string_view::npos ? std::string_view() : text_.substr(at_ + 1, end - at_ - 1);
    const bool is_number =
        !inside.empty() && is_digit(inside.front()) &&
        std::ranges::all_of(inside, [](char c) { return is_digit(c) || c == ','; }) &&
        std::ranges::count(inside, ',') <= 1;
    if (!is_number)
      return fmt::format("its '{{' at place {} is not {{2}}, {{2,}} or {{2,5}}", at_ + 1);
    return take_repetition(end + 1);
  }

  const std::string_view text_;
  std::size_t at_ = 0;
  bool repeatable_ = false;        // something stands before
  std::vector<std::size_t> open_;  // places of '('
};

}  // namespace

bool is_path_pattern(std::string_view path) { return path.starts_with("~"); }

std::optional<std::string> find_fault(std::string_view pattern) {
  std::string_view rest = pattern.substr(std::min<std::size_t>(pattern.size(), 1));
  if (rest.starts_with("*")) rest.remove_prefix(1);
  const std::string_view expression = trimmed(rest);
  if (expression.empty()) return "no expression follows the '~'";
  if (!rest.starts_with(" ")) return "there is no blank between '~' or '~*' and the expression";
  for (const char c : expression) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte <= ' ' || byte == 0x7f) return "the expression has a blank in it: write \\s";
    if (c == '"' || c == ';') return fmt::format("the expression has '{}' in it", c);
  }
  return Reader(expression).find_fault();
}

}  // namespace berth::api
