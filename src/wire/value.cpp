#include "wire/value.h"

#include <simdjson.h>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>
#include <boost/json/value_stack.hpp>
#include <cmath>

#include "base/encoding.h"
#include "wire/json_writer.h"

namespace berth::wire {
namespace {

// simdjson wants one level to spare (an empty container inside the last level takes it).
constexpr std::size_t kParserDepth = kMaxDepth + 1;

// Boost's own parser rounds one double in five of 17 digits wrongly and makes infinities of large
// ones; simdjson does neither, and is faster. Its document becomes a Value from the leaves upwards.
void push(boost::json::value_stack& stack, simdjson::dom::element element) {
  using Type = simdjson::dom::element_type;
  switch (element.type()) {
    case Type::OBJECT: {
      const simdjson::dom::object fields = element.get_object().value_unsafe();
      std::size_t size = 0;
      for (const auto field : fields) {
        stack.push_key(field.key);
        push(stack, field.value);
        ++size;
      }
      return stack.push_object(size);
    }
    case Type::ARRAY: {
      const simdjson::dom::array items = element.get_array().value_unsafe();
      std::size_t size = 0;
      for (const auto item : items) {
        push(stack, item);
        ++size;
      }
      return stack.push_array(size);
    }
    case Type::STRING: return stack.push_string(element.get_string().value_unsafe());
    case Type::INT64: return stack.push_int64(element.get_int64().value_unsafe());
    case Type::UINT64: return stack.push_uint64(element.get_uint64().value_unsafe());
    case Type::DOUBLE: return stack.push_double(element.get_double().value_unsafe());
    case Type::BOOL: return stack.push_bool(element.get_bool().value_unsafe());
    case Type::NULL_VALUE: return stack.push_null();
  }
}

// What parsing needs beside the text. Made once per thread, since most texts are short and their
// buffers cost more than reading them.
struct Workbench {
  simdjson::dom::parser parser{};
  boost::json::value_stack stack{};

  Result<Value> parse(std::string_view text) {
    if (parser.capacity() < text.size()) {
      if (const auto error = parser.allocate(text.size(), kParserDepth)) {
        return fail(Code::exhausted, "no room to parse JSON of {} bytes: {}", text.size(),
                    simdjson::error_message(error));
      }
    }
    simdjson::dom::element root;
    if (const auto error = parser.parse(text.data(), text.size()).get(root)) {
      return fail(Code::invalid, "not a JSON document: {}", simdjson::error_message(error));
    }
    stack.reset();
    push(stack, root);
    return stack.release();
  }
};
// A longer text gets buffers of its own, so that no thread keeps large ones.
constexpr std::size_t kMaxKeptText = 64u << 10;

class Writer {
 public:
  Writer(std::string& out, bool pretty) : out_(out), pretty_(pretty) {}

  void write(const Value& value) {
    switch (value.kind()) {
      case boost::json::kind::null: out_ += "null"; break;
      case boost::json::kind::bool_: out_ += value.get_bool() ? "true" : "false"; break;
      case boost::json::kind::int64: append(value.get_int64()); break;
      case boost::json::kind::uint64: append(value.get_uint64()); break;
      case boost::json::kind::double_: append_double(value.get_double()); break;
      case boost::json::kind::string: append_json_string(out_, value.get_string()); break;
      case boost::json::kind::array:
        write_all('[', value.get_array(), ']', [&](const Value& item) { write(item); });
        break;
      case boost::json::kind::object:
        write_all('{', value.get_object(), '}', [&](const auto& field) {
          append_json_string(out_, field.key());
          out_ += pretty_ ? ": " : ":";
          write(field.value());
        });
        break;
    }
  }

 private:
  template <class Container, class WriteOne>
  void write_all(char open, const Container& container, char close, WriteOne write_one) {
    out_ += open;
    ++depth_;
    bool first = true;
    for (const auto& one : container) {
      if (!first) out_ += ',';
      first = false;
      new_line();
      write_one(one);
    }
    --depth_;
    if (!first) new_line();
    out_ += close;
  }
  void new_line() {
    if (!pretty_) return;
    out_ += '\n';
    out_.append(2 * depth_, ' ');
  }
  template <class Number>
  void append(Number number) {
    fmt::format_to(std::back_inserter(out_), "{}", number);
  }
  // JSON has no infinities; a document of ours holds none unless code put one there.
  void append_double(double number) {
    if (std::isfinite(number)) {
      append(number);
    } else {
      out_ += "null";
    }
  }

  std::string& out_;
  const bool pretty_;
  std::size_t depth_ = 0;
};

std::string written(const Value& value, bool pretty) {
  std::string out;
  Writer(out, pretty).write(value);
  return out;
}

}  // namespace

Result<Value> parse_json(std::string_view text) {
  if (text.empty()) return fail(Code::invalid, "not a JSON document: there is no text");
  if (text.size() > kMaxKeptText) return Workbench().parse(text);
  thread_local Workbench bench;
  return bench.parse(text);
}

std::string to_json(const Value& value) { return written(value, false); }

void append_json(std::string& out, const Value& value) { Writer(out, false).write(value); }

std::string to_pretty_json(const Value& value) { return written(value, true); }

}  // namespace berth::wire
