// A string that many objects share: one copy per process and value. Eight bytes, compares by
// pointer. Thread-safe.
//
// For namespaces, node names, label keys: sets that stay small. Interned text is never freed.
#pragma once

#include <compare>
#include <string>
#include <string_view>

namespace berth::kube {

class Interned {
 public:
  Interned() = default;
  explicit Interned(std::string_view text);
  std::string_view view() const { return text_ ? std::string_view(*text_) : std::string_view(); }
  bool empty() const { return text_ == nullptr || text_->empty(); }
  friend bool operator==(const Interned& a, const Interned& b) { return a.text_ == b.text_; }
  friend bool operator==(const Interned& a, std::string_view b) { return a.view() == b; }

 private:
  const std::string* text_ = nullptr;  // null for the empty string
};

}  // namespace berth::kube
