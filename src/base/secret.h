// A value that must not reach a log: it cannot be formatted, printed or compared by accident.
//
// `reveal()` is the one way to the bytes, so that a reviewer finds each use by searching for it.
#pragma once

#include <string>
#include <utility>

namespace berth {

class Secret {
 public:
  Secret() = default;
  explicit Secret(std::string value) : value_(std::move(value)) {}
  Secret(const Secret&) = default;
  Secret(Secret&& other) noexcept : value_(std::move(other.value_)) { other.wipe(); }
  Secret& operator=(const Secret& other) {
    if (this == &other) return *this;
    wipe();
    value_ = other.value_;
    return *this;
  }
  Secret& operator=(Secret&& other) noexcept {
    if (this == &other) return *this;
    wipe();
    value_ = std::move(other.value_);
    other.wipe();
    return *this;
  }
  ~Secret() { wipe(); }

  const std::string& reveal() const { return value_; }
  bool empty() const { return value_.empty(); }

 private:
  // All of the storage: a short text stays in the string it was moved from. Through a volatile
  // pointer: a plain fill before the destructor may be optimised away.
  void wipe() {
    value_.resize(value_.capacity());
    volatile char* bytes = value_.data();
    for (std::size_t i = 0; i < value_.size(); ++i) bytes[i] = 0;
    value_.clear();
  }

  std::string value_;
};

}  // namespace berth
