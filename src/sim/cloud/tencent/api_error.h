// How the cloud says no: a code that programs compare, and a sentence for people. HTTP status is
// 200 all the same.
#pragma once

#include <expected>
#include <string>
#include <utility>

#include <fmt/format.h>

namespace berth::sim::tencent {

struct ApiError {
  std::string code{};
  std::string message{};

  friend bool operator==(const ApiError&, const ApiError&) = default;
};

template <class T = void>
using Outcome = std::expected<T, ApiError>;

template <class... Args>
std::unexpected<ApiError> refuse(std::string code, fmt::format_string<Args...> format,
                                 Args&&... args) {
  return std::unexpected(
      ApiError{std::move(code), fmt::format(format, std::forward<Args>(args)...)});
}

// Hands the refusal of one step on as the refusal of the whole.
template <class T>
std::unexpected<ApiError> pass(Outcome<T>& outcome) {
  return std::unexpected(std::move(outcome.error()));
}

}  // namespace berth::sim::tencent
