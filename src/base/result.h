// Errors as values. A code says what the caller may do next; the rest says it to a person.
//
// Exceptions end at the library that throws them: no function of ours lets one out.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace berth {

enum class Code : std::uint8_t {
  invalid,         // the input is wrong: trying again will not help
  not_found,       // the object is not there
  already_exists,  // an object of that name is there
  conflict,        // somebody wrote in between: read again and plan again
  precondition,    // a `test` or precondition of ours did not hold
  expired,         // the version asked for is compacted (410): list again
  too_new,         // the version asked for lies in the server's future: list at latest
  throttled,       // slow down: retry_after says for how long
  unavailable,     // the peer or the network is down, or answers 5xx
  timeout,         // the deadline passed: the effect is unknown
  unauthorized,    // 401
  forbidden,       // 403
  exhausted,       // a bound of ours or a quota is reached
  unsupported,     // the peer does not know this call
  stopped,         // our own process is ending: return at once
  internal,        // a defect of ours or of the peer
};

struct CodeTraits {
  std::string_view name;
  bool retryable;   // trying the same again may succeed
  int http_status;  // how we answer it when we are the server
  int exit_code;    // how a command of ours ends with it
};

// The one table that maps a code to what is done about it.
const CodeTraits& traits_of(Code code);

struct [[nodiscard]] Error {
  Code code = Code::internal;
  std::string message{};
  std::string object{};      // "Pod games/room-0"
  std::string field{};       // "spec.poolItems[0].startPort"
  std::string hint{};        // what the reader should do
  std::string request_id{};  // the peer's, for its support desk
  std::optional<std::chrono::nanoseconds> retry_after{};
  std::shared_ptr<const Error> cause{};

  // "invalid: Pod games/room-0: spec.x: message (hint: ...): caused by ...", in one line.
  std::string to_string() const;

  // Fluent additions, for use on a temporary: `return fail(...)` needs no named variable.
  Error&& about(std::string what) && {
    object = std::move(what);
    return std::move(*this);
  }
  Error&& at(std::string path) && {
    field = std::move(path);
    return std::move(*this);
  }
  Error&& with_hint(std::string text) && {
    hint = std::move(text);
    return std::move(*this);
  }
  Error&& because(Error inner) && {
    cause = std::make_shared<const Error>(std::move(inner));
    return std::move(*this);
  }
};

inline bool is_retryable(const Error& error) { return traits_of(error.code).retryable; }

template <class T = void>
class [[nodiscard]] Result : public std::expected<T, Error> {
 public:
  using std::expected<T, Error>::expected;
};

using Failure = std::unexpected<Error>;

// `return fail(Code::invalid, "port '{}' is not 1-65535", text);`
template <class... Args>
Failure fail(Code code, fmt::format_string<Args...> format, Args&&... args) {
  return Failure(Error{.code = code, .message = fmt::format(format, std::forward<Args>(args)...)});
}

inline Failure fail(Error error) { return Failure(std::move(error)); }

// Hands the error of one result on as the error of another: `if (!r) return pass(r);`
template <class T>
Failure pass(Result<T>& result) {
  return Failure(std::move(result.error()));
}
template <class T>
Failure pass(Result<T>&& result) {
  return Failure(std::move(result.error()));
}

// Builds an Error to be extended: `fail(error_of(Code::invalid, "...").at("spec.x"))`.
template <class... Args>
Error error_of(Code code, fmt::format_string<Args...> format, Args&&... args) {
  return Error{.code = code, .message = fmt::format(format, std::forward<Args>(args)...)};
}

}  // namespace berth
