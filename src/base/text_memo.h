// What a pure function made of the last texts: for annotations that are read again at every look at
// an object, though they seldom change.
//
// A table of fixed size with one place for each text, by its hash: the newest stays. Not
// thread-safe: each thread has its own (`thread_local`).
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace berth {

template <class T, std::size_t kPlaces>
class TextMemo {
 public:
  // Larger texts are made of again each time, so that nobody fills memory with them.
  static constexpr std::size_t kMaxText = 4096;

  // Null when it is not known; valid until the next `put`.
  const T* find(std::string_view text) const {
    if (entries_.empty()) return nullptr;
    const Entry& entry = entries_[index_of(text)];
    return entry.made && entry.text == text ? &*entry.made : nullptr;
  }
  void put(std::string_view text, T made) {
    if (text.size() > kMaxText) return;
    entries_.resize(kPlaces);
    entries_[index_of(text)] = {std::string(text), std::move(made)};
  }

 private:
  struct Entry {
    std::string text{};
    std::optional<T> made{};
  };
  static std::size_t index_of(std::string_view text) {
    return std::hash<std::string_view>{}(text) % kPlaces;
  }

  std::vector<Entry> entries_;  // empty until something is put: most threads never do
};

}  // namespace berth
