// Boxed<T>: an optional value that lives on the heap and is copied with its owner.
//
// For sub-objects that most objects lack: a hundred thousand cached Listeners pay a pointer for
// each, not the sub-object. Plain value; as safe between threads as any other.
#pragma once

#include <memory>
#include <utility>

namespace berth {

template <class T>
class Boxed {
 public:
  using value_type = T;

  Boxed() = default;
  Boxed(T value)  // NOLINT: implicit, as std::optional
      : value_(std::make_unique<T>(std::move(value))) {}
  Boxed(const Boxed& other) : value_(other ? std::make_unique<T>(*other) : nullptr) {}
  Boxed(Boxed&&) noexcept = default;
  Boxed& operator=(const Boxed& other) {
    value_ = other ? std::make_unique<T>(*other) : nullptr;
    return *this;
  }
  Boxed& operator=(Boxed&&) noexcept = default;
  ~Boxed() = default;

  bool has_value() const { return value_ != nullptr; }
  explicit operator bool() const { return has_value(); }
  const T& operator*() const { return *value_; }
  T& operator*() { return *value_; }
  const T* operator->() const { return value_.get(); }
  T* operator->() { return value_.get(); }

  T& emplace() {
    value_ = std::make_unique<T>();
    return *value_;
  }
  void reset() { value_.reset(); }

  friend bool operator==(const Boxed& a, const Boxed& b) {
    return a.has_value() == b.has_value() && (!a || *a == *b);
  }

 private:
  std::unique_ptr<T> value_;
};

}  // namespace berth
