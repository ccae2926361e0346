#include "wire/json_reader.h"

#include <simdjson.h>
#include <array>
#include <new>
#include <optional>
#include <string>

#include "wire/value.h"

namespace berth::wire {
namespace {

namespace ondemand = simdjson::ondemand;

// Where the reader stands: a field of an object or an item of an array.
struct Step {
  std::string_view key;
  std::size_t index = 0;
  bool in_array = false;
};

// The document under way.
struct Reading {
  ondemand::parser parser;
  std::string padded;
  std::array<Step, kMaxDepth> path;
  std::size_t depth = 0;
  std::optional<Error> error;

  std::string path_text() const {
    std::string out;
    for (std::size_t i = 0; i < depth; ++i) {
      if (path[i].in_array) {
        out += fmt::format("[{}]", path[i].index);
      } else {
        if (!out.empty()) out += '.';
        out += path[i].key;
      }
    }
    return out;
  }
  void refuse(std::string_view what) {
    if (!error) error = error_of(Code::invalid, "not the JSON expected: {}", what).at(path_text());
  }
  void refuse(simdjson::error_code code) { refuse(simdjson::error_message(code)); }

  bool enter(Step step) {
    if (depth == kMaxDepth) {
      refuse("nests too deep");
      return false;
    }
    path[depth++] = step;
    return true;
  }
};

// What a JsonNode stores.
struct Slot {
  ondemand::value value;
  bool was_read = false;
};

}  // namespace

struct JsonNodeAccess {
  static_assert(sizeof(Slot) <= sizeof(JsonNode::storage_) && alignof(Slot) <= 8);
  static_assert(std::is_trivially_copyable_v<Slot>, "a JsonNode is copied byte by byte");

  static JsonNode node(Reading& reading, ondemand::value value) {
    JsonNode node;
    node.reading_ = &reading;
    new (node.storage_) Slot{value};
    return node;
  }
  static Reading& reading(JsonNode& node) { return *static_cast<Reading*>(node.reading_); }
  static Slot& slot(JsonNode& node) {
    return *std::launder(reinterpret_cast<Slot*>(node.storage_));
  }

  // The type by the first character; nullopt when that begins no value or the document failed
  // already.
  static std::optional<ondemand::json_type> type(JsonNode& node) {
    if (reading(node).error) return std::nullopt;
    ondemand::json_type type{};
    if (const auto error = slot(node).value.type().get(type)) {
      reading(node).refuse(error);
      return std::nullopt;
    }
    return type;
  }

  // Checks for null to the last letter.
  static bool null(JsonNode& node) {
    if (type(node) != ondemand::json_type::null) return false;
    bool is_null = false;
    if (const auto error = slot(node).value.is_null().get(is_null)) reading(node).refuse(error);
    if (!is_null) reading(node).refuse("a word that is not null");
    return is_null;
  }

  // The value if it is there to be read: not null, not read before, the document intact. A second
  // read would run over simdjson's buffer for strings.
  static ondemand::value* readable(JsonNode& node) {
    if (null(node) || reading(node).error) return nullptr;
    if (std::exchange(slot(node).was_read, true)) {
      reading(node).refuse("a value was read twice");
      return nullptr;
    }
    return &slot(node).value;
  }

  template <class T>
  static T scalar(JsonNode& node, std::string_view expected) {
    T out{};
    ondemand::value* value = readable(node);
    if (value != nullptr && value->get(out)) reading(node).refuse(expected);
    return out;
  }

  using FieldVisitor = FunctionRef<void(std::string_view key, JsonNode value)>;
  static void visit_fields(Reading& reading, ondemand::object& object, FieldVisitor visit) {
    if (!reading.enter({})) return;
    const std::size_t here = reading.depth - 1;
    for (auto field : object) {
      ondemand::value value;
      std::string_view key;
      auto error = field.unescaped_key().get(key);
      if (!error) error = field.value().get(value);
      if (error) {
        reading.refuse(error);
        return;
      }
      reading.path[here].key = key;
      visit(key, node(reading, value));
      if (reading.error) return;
    }
    --reading.depth;
  }
};

std::string_view JsonNode::string() {
  return JsonNodeAccess::scalar<std::string_view>(*this, "expected a string");
}

std::int64_t JsonNode::integer() {
  return JsonNodeAccess::scalar<std::int64_t>(*this, "expected an integer");
}

bool JsonNode::boolean() { return JsonNodeAccess::scalar<bool>(*this, "expected true or false"); }

bool JsonNode::is_null() { return JsonNodeAccess::null(*this); }

bool JsonNode::is_object() { return JsonNodeAccess::type(*this) == ondemand::json_type::object; }

bool JsonNode::is_array() { return JsonNodeAccess::type(*this) == ondemand::json_type::array; }

bool JsonNode::is_string() { return JsonNodeAccess::type(*this) == ondemand::json_type::string; }

std::string_view JsonNode::raw() {
  if (is_null()) return "null";
  const auto type = JsonNodeAccess::type(*this);
  ondemand::value* value = JsonNodeAccess::readable(*this);
  if (value == nullptr) return {};
  std::string_view text;
  simdjson::error_code error = simdjson::SUCCESS;
  if (type == ondemand::json_type::object) {
    ondemand::object object;
    error = value->get_object().get(object);
    if (!error) error = object.raw_json().get(text);
  } else if (type == ondemand::json_type::array) {
    ondemand::array array;
    error = value->get_array().get(array);
    if (!error) error = array.raw_json().get(text);
  } else {
    text = value->raw_json_token();
  }
  if (error) JsonNodeAccess::reading(*this).refuse(error);
  // simdjson's ends reach to the next token.
  const std::size_t last = text.find_last_not_of(" \t\r\n");
  return last == std::string_view::npos ? std::string_view{} : text.substr(0, last + 1);
}

void JsonNode::fields(FunctionRef<void(std::string_view key, JsonNode value)> visit) {
  ondemand::value* value = JsonNodeAccess::readable(*this);
  if (value == nullptr) return;
  Reading& reading = JsonNodeAccess::reading(*this);
  ondemand::object object;
  if (value->get_object().get(object)) return reading.refuse("expected an object");
  JsonNodeAccess::visit_fields(reading, object, visit);
}

void JsonNode::items(FunctionRef<void(JsonNode item)> visit) {
  ondemand::value* value = JsonNodeAccess::readable(*this);
  if (value == nullptr) return;
  Reading& reading = JsonNodeAccess::reading(*this);
  ondemand::array array;
  if (value->get_array().get(array)) return reading.refuse("expected an array");
  if (!reading.enter({.key = {}, .index = 0, .in_array = true})) return;
  const std::size_t here = reading.depth - 1;
  for (auto item : array) {
    ondemand::value element;
    if (const auto error = item.get(element)) return reading.refuse(error);
    visit(JsonNodeAccess::node(reading, element));
    if (reading.error) return;
    ++reading.path[here].index;
  }
  --reading.depth;
}

struct JsonReader::State : Reading {};

JsonReader::JsonReader() : state_(std::make_unique<State>()) {}
JsonReader::~JsonReader() = default;
JsonReader::JsonReader(JsonReader&&) noexcept = default;
JsonReader& JsonReader::operator=(JsonReader&&) noexcept = default;

Result<> JsonReader::read(std::string_view text,
                          FunctionRef<void(std::string_view key, JsonNode value)> visit) {
  Reading& reading = *state_;
  reading.padded.assign(text);
  reading.padded.append(simdjson::SIMDJSON_PADDING, ' ');
  reading.depth = 0;
  reading.error.reset();

  ondemand::document document;
  ondemand::object root;
  auto error = reading.parser.iterate(reading.padded.data(), text.size(), reading.padded.size())
                   .get(document);
  if (!error) error = document.get_object().get(root);
  if (error) {
    reading.refuse(error);
  } else {
    JsonNodeAccess::visit_fields(reading, root, visit);
  }
  // simdjson itself does not mind what follows the object.
  if (!reading.error && document.current_location().error() != simdjson::OUT_OF_BOUNDS) {
    reading.refuse("text after the end of the object");
  }
  if (reading.error) return fail(*std::exchange(reading.error, std::nullopt));
  return {};
}

}  // namespace berth::wire
