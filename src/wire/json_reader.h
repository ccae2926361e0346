// A forward-only JSON reader for hot paths: one pass over the text, no document in memory. simdjson
// stays in the .cpp.
//
// Views (keys, strings) live until the next call of `read`. A reader belongs to one task and is
// reused between documents. Fields come in the order of the text; unread values are skipped. On any
// error the visitors may have seen a part of the document already: fill a fresh struct and publish
// it only when `read` succeeded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <type_traits>

#include "base/result.h"

namespace berth::wire {

// A reference to a callable, valid during the call it is passed to.
template <class Signature>
class FunctionRef;
template <class R, class... Args>
class FunctionRef<R(Args...)> {
 public:
  template <class F>
  FunctionRef(F&& f)  // NOLINT: implicit on purpose
      : object_(const_cast<void*>(static_cast<const void*>(&f))),
        call_([](void* object, Args... args) -> R {
          return (*static_cast<std::remove_reference_t<F>*>(object))(static_cast<Args>(args)...);
        }) {}
  R operator()(Args... args) const { return call_(object_, static_cast<Args>(args)...); }

 private:
  void* object_;
  R (*call_)(void*, Args...);
};

// One value of the document under way; use it inside the visit that it was handed to. It can be
// asked for its type at will, and read once.
class JsonNode {
 public:
  bool is_null();
  bool is_object();
  bool is_array();
  bool is_string();

  // Wrong types are remembered as the document's error and give the empty answer. Null gives the
  // empty answer too and is no error: Go writes it for fields that are not set.
  std::string_view string();
  std::int64_t integer();
  bool boolean();
  // The text of this value as it stands in the document. Of its grammar only the brackets are
  // checked, as with values that are not read at all.
  std::string_view raw();
  void fields(FunctionRef<void(std::string_view key, JsonNode value)> visit);
  void items(FunctionRef<void(JsonNode item)> visit);

 private:
  friend struct JsonNodeAccess;
  void* reading_ = nullptr;
  alignas(8) std::byte storage_[32];  // simdjson's value; json_reader.cpp checks that it fits
};

class JsonReader {
 public:
  JsonReader();
  ~JsonReader();
  JsonReader(JsonReader&&) noexcept;
  JsonReader& operator=(JsonReader&&) noexcept;

  // Visits the fields of the one object that the text must be, no more and no less. The text is
  // copied first: simdjson reads past the end.
  Result<> read(std::string_view text,
                FunctionRef<void(std::string_view key, JsonNode value)> visit);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace berth::wire
