#include <array>
#include <utility>

#include "wire/splitters.h"

namespace berth::wire {
namespace {

constexpr std::string_view kItemsKey = "\"items\":";

constexpr std::array<bool, 256> table_of(std::string_view bytes) {
  std::array<bool, 256> table{};
  for (const char c : bytes) table[static_cast<unsigned char>(c)] = true;
  return table;
}

// The bytes that matter outside and inside strings. All else is run over.
constexpr auto kOutside = table_of("\"{}[]");
constexpr auto kInside = table_of("\"\\");

const char* find_any(const std::array<bool, 256>& table, const char* at, const char* end) {
  while (at != end && !table[static_cast<unsigned char>(*at)]) ++at;
  return at;
}

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }
bool opens(char c) { return c == '{' || c == '['; }
bool closes(char c) { return c == '}' || c == ']'; }

}  // namespace

Result<> JsonItemSplitter::feed(std::string_view chunk, MessageVisitor visit_item) {
  const char* at = chunk.data();
  const char* const end = at + chunk.size();
  while (at != end) {
    const bool item_may_start = place_ == Place::first_item || place_ == Place::next_item;
    Result<const char*> next = at + 1;
    if (place_ == Place::item || (item_may_start && *at == '{')) {
      next = take_item(at, end, visit_item);
    } else if (place_ == Place::members) {
      next = take_member(at, end);
    } else if (auto passed = pass_over(*at); !passed) {
      return passed;
    }
    if (!next) return pass(next);
    at = *next;
  }
  return {};
}

// A byte that is neither part of a member nor of an item: space or punctuation.
Result<> JsonItemSplitter::pass_over(char c) {
  if (is_space(c)) return {};
  if ((place_ == Place::before && c == '{') || (place_ == Place::after_items && c == ',')) {
    place_ = Place::members;
  } else if (place_ == Place::after_items && c == '}') {
    place_ = Place::done;
  } else if ((place_ == Place::first_item || place_ == Place::after_item) && c == ']') {
    place_ = Place::after_items;
  } else if (place_ == Place::after_item && c == ',') {
    place_ = Place::next_item;
  } else {
    return fail(Code::invalid, "a list in JSON has a byte {:#04x} where none may be",
                static_cast<unsigned char>(c));
  }
  return {};
}

// Takes one byte of a member, or a run of them inside a string.
Result<const char*> JsonItemSplitter::take_member(const char* at, const char* end) {
  const char* next = at + 1;
  const char c = *at;
  Result<> taken;
  if (in_string_) {
    if (std::exchange(escaped_, false)) {
      // This byte counts for nothing but itself.
    } else if (c == '"' || c == '\\') {
      in_string_ = c != '"';
      escaped_ = c == '\\';
    } else {
      next = find_any(kInside, at, end);
    }
    taken = keep({at, next});
  } else if (is_space(c)) {
    return next;
  } else if (depth_ == 0 && c == ',') {
    taken = end_member();
  } else if (depth_ == 0 && c == '}') {
    place_ = Place::done;
    if (!member_.empty() || !envelope_.empty()) taken = end_member();
  } else if (depth_ == 0 && c == '[' && member_ == kItemsKey) {
    member_.clear();
    place_ = Place::first_item;
  } else if (depth_ == 0 && closes(c)) {
    taken = fail(Code::invalid, "a list in JSON closes a bracket that is not open");
  } else {
    in_string_ = c == '"';
    depth_ = opens(c) ? depth_ + 1 : closes(c) ? depth_ - 1 : depth_;
    taken = keep({at, next});
  }
  if (!taken) return pass(taken);
  return next;
}

Result<> JsonItemSplitter::keep(std::string_view part) {
  if (member_.size() + envelope_.size() + part.size() > kMaxMessageBytes) {
    return fail(Code::exhausted, "a list in JSON has more than {} bytes beside its items",
                kMaxMessageBytes);
  }
  member_ += part;
  return {};
}

Result<> JsonItemSplitter::end_member() {
  if (member_.empty()) return fail(Code::invalid, "a list in JSON has a comma without a member");
  if (member_.starts_with(kItemsKey)) {
    if (member_ != "\"items\":null") {
      return fail(Code::invalid, "a list in JSON has items that are neither an array nor null");
    }
  } else {
    if (!envelope_.empty()) envelope_ += ',';
    envelope_ += member_;
  }
  member_.clear();
  return {};
}

Result<const char*> JsonItemSplitter::take_item(const char* at, const char* end,
                                                MessageVisitor visit_item) {
  place_ = Place::item;
  const char* const stop = skip_item(at, end);
  std::string_view item(at, stop);
  if (item_.size() + item.size() > kMaxMessageBytes) {
    return fail(Code::exhausted, "an item of a list is larger than {} bytes", kMaxMessageBytes);
  }
  const bool complete = depth_ == 0;
  if (!complete || !item_.empty()) item = item_ += item;
  if (!complete) return stop;
  place_ = Place::after_item;
  if (auto visited = visit_item(item); !visited) return pass(visited);
  item_.clear();
  return stop;
}

// To behind the bracket that closes the item, or to the end of the chunk.
const char* JsonItemSplitter::skip_item(const char* at, const char* end) {
  while (at != end) {
    if (escaped_) {
      escaped_ = false;
      ++at;
      continue;
    }
    at = find_any(in_string_ ? kInside : kOutside, at, end);
    if (at == end) break;
    const char c = *at++;
    if (c == '"') {
      in_string_ = !in_string_;
    } else if (c == '\\') {
      escaped_ = true;
    } else if (opens(c)) {
      ++depth_;
    } else if (--depth_ == 0) {
      break;
    }
  }
  return at;
}

Result<std::string> JsonItemSplitter::finish() const {
  if (place_ != Place::done) {
    return fail(Code::unavailable, "a list in JSON ended before it was complete");
  }
  return '{' + envelope_ + '}';
}

}  // namespace berth::wire
