// A cursor over JSON that we have written ourselves, for reading it without a document in memory.
// It checks what it steps over and copies nothing; the text must outlive it.
#pragma once

#include <optional>
#include <string_view>

namespace berth::sim::kube {

class TextCursor {
 public:
  explicit TextCursor(std::string_view text) : rest_(text) {}

  bool at_end() const { return rest_.empty(); }
  bool is_at(char c) const { return rest_.starts_with(c); }
  bool take(std::string_view token) {
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  // A string, with its escapes and without its quotes.
  std::optional<std::string_view> quoted() {
    if (!is_at('"')) return std::nullopt;
    const std::size_t end = string_end(1);
    return end < rest_.size() ? std::optional(cut(end + 1).substr(1, end - 1)) : std::nullopt;
  }
  // An object, from brace to brace.
  std::optional<std::string_view> object() {
    std::size_t depth = 0;
    for (std::size_t i = 0; i < rest_.size() && (depth > 0 || is_at('{')); ++i) {
      if (rest_[i] == '"') {
        i = string_end(i + 1);
      } else if (rest_[i] == '{') {
        ++depth;
      } else if (rest_[i] == '}' && --depth == 0) {
        return cut(i + 1);
      }
    }
    return std::nullopt;
  }

 private:
  std::size_t string_end(std::size_t at) const {
    for (; at < rest_.size() && rest_[at] != '"'; ++at) at += rest_[at] == '\\';
    return at;
  }
  std::string_view cut(std::size_t size) {
    const std::string_view head = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return head;
  }

  std::string_view rest_;
};

}  // namespace berth::sim::kube
