#include "wire/pointer.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <charconv>

namespace berth::wire {
namespace {

Result<std::string> unescape_step(std::string_view step) {
  std::string out;
  out.reserve(step.size());
  for (std::size_t i = 0; i < step.size(); ++i) {
    if (step[i] != '~') {
      out += step[i];
      continue;
    }
    const char code = i + 1 < step.size() ? step[i + 1] : '\0';
    if (code != '0' && code != '1') {
      return fail(Code::invalid, "JSON Pointer step '{}' has a '~' that is neither ~0 nor ~1",
                  step);
    }
    out += code == '0' ? '~' : '/';
    ++i;
  }
  return out;
}

// The deepest value on the way to `steps` that is there, and how many steps lead to it.
struct Reached {
  Value* at;
  std::size_t steps;
};
Reached walk(Value& root, const std::vector<std::string>& steps) {
  Reached reached{&root, 0};
  while (reached.steps < steps.size()) {
    Value* next = child_of(*reached.at, steps[reached.steps]);
    if (next == nullptr) break;
    reached = {next, reached.steps + 1};
  }
  return reached;
}

}  // namespace

Result<std::vector<std::string>> pointer_steps(std::string_view pointer) {
  std::vector<std::string> steps;
  if (pointer.empty()) return steps;
  if (pointer.front() != '/') {
    return fail(Code::invalid, "JSON Pointer '{}' does not begin with '/'", pointer);
  }
  for (std::size_t begin = 1; begin <= pointer.size();) {
    const std::size_t end = std::min(pointer.find('/', begin), pointer.size());
    auto step = unescape_step(pointer.substr(begin, end - begin));
    if (!step) return pass(step);
    steps.push_back(*std::move(step));
    begin = end + 1;
  }
  return steps;
}

std::optional<std::size_t> array_index(std::string_view step) {
  if (step.empty() || (step.size() > 1 && step.front() == '0')) return std::nullopt;
  std::size_t index = 0;
  const auto [stop, error] = std::from_chars(step.begin(), step.end(), index);
  if (error != std::errc{} || stop != step.end()) return std::nullopt;
  return index;
}

const Value* child_of(const Value& parent, std::string_view step) {
  if (const Object* object = parent.if_object()) return object->if_contains(step);
  if (const Array* array = parent.if_array()) {
    const auto index = array_index(step);
    return index ? array->if_contains(*index) : nullptr;
  }
  return nullptr;
}

Value* child_of(Value& parent, std::string_view step) {
  return const_cast<Value*>(child_of(std::as_const(parent), step));
}

bool remove_child(Value& parent, std::string_view step) {
  if (Object* object = parent.if_object()) {
    const auto found = object->find(step);
    if (found == object->end()) return false;
    object->stable_erase(found);
    return true;
  }
  Array* array = parent.if_array();
  const auto index = array_index(step);
  if (array == nullptr || !index || *index >= array->size()) return false;
  array->erase(array->begin() + static_cast<std::ptrdiff_t>(*index));
  return true;
}

std::string escape_pointer_step(std::string_view key) {
  std::string out;
  out.reserve(key.size());
  for (const char c : key) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out += c;
    }
  }
  return out;
}

const Value* find(const Value& root, std::string_view pointer) {
  if (pointer.find('~') != std::string_view::npos) {
    boost::system::error_code ignored;
    return root.find_pointer(pointer, ignored);
  }
  // Without escapes the steps are the keys.
  const Value* at = &root;
  while (at != nullptr && !pointer.empty()) {
    if (pointer.front() != '/') return nullptr;
    const std::string_view step = pointer.substr(1, pointer.find('/', 1) - 1);
    pointer.remove_prefix(1 + step.size());
    at = child_of(*at, step);
  }
  return at;
}

Value* find(Value& root, std::string_view pointer) {
  return const_cast<Value*>(find(std::as_const(root), pointer));
}

std::string_view string_at(const Value& root, std::string_view pointer) {
  const Value* at = find(root, pointer);
  const auto* text = at == nullptr ? nullptr : at->if_string();
  return text == nullptr ? std::string_view{} : std::string_view(*text);
}

std::optional<std::int64_t> int_at(const Value& root, std::string_view pointer) {
  const Value* at = find(root, pointer);
  if (at == nullptr) return std::nullopt;
  boost::system::error_code error;
  const auto number = at->to_number<std::int64_t>(error);
  if (error) return std::nullopt;
  return number;
}

std::optional<bool> bool_at(const Value& root, std::string_view pointer) {
  const Value* at = find(root, pointer);
  const bool* flag = at == nullptr ? nullptr : at->if_bool();
  if (flag == nullptr) return std::nullopt;
  return *flag;
}

const Object* object_at(const Value& root, std::string_view pointer) {
  const Value* at = find(root, pointer);
  return at == nullptr ? nullptr : at->if_object();
}

const Array* array_at(const Value& root, std::string_view pointer) {
  const Value* at = find(root, pointer);
  return at == nullptr ? nullptr : at->if_array();
}

Result<> set_at(Value& root, std::string_view pointer, Value value) {
  const auto steps = pointer_steps(pointer);
  if (!steps) return fail(steps.error());
  if (steps->size() > kMaxDepth) {
    return fail(Code::invalid, "JSON Pointer has {} steps, {} are allowed", steps->size(),
                kMaxDepth);
  }
  auto [at, done] = walk(root, *steps);
  if (done < steps->size() && !at->is_object() && !at->is_null()) {
    return fail(Code::invalid,
                "cannot set '{}': step '{}' does not exist and its parent is no object", pointer,
                (*steps)[done]);
  }
  for (; done < steps->size(); ++done) {
    if (at->is_null()) at->emplace_object();
    at = &at->get_object()[(*steps)[done]];
  }
  *at = std::move(value);
  return {};
}

bool remove_at(Value& root, std::string_view pointer) {
  const std::size_t slash = pointer.rfind('/');
  if (slash == std::string_view::npos) return false;
  Value* parent = find(root, pointer.substr(0, slash));
  const auto last = unescape_step(pointer.substr(slash + 1));
  return parent != nullptr && last && remove_child(*parent, *last);
}

}  // namespace berth::wire
