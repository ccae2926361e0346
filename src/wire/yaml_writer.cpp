#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>

#include "base/encoding.h"
#include "base/text.h"
#include "wire/yaml.h"
#include "wire/yaml_scalar.h"

namespace berth::wire {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

// True for text that every YAML reader, old or new, takes for itself without quotes. Narrower than
// the grammar: quotes too many do no harm.
bool is_safe_plain(std::string_view text) {
  if (text.empty()) return false;
  const char first = text.front();
  if (!is_letter(first) && !is_digit(first) && first != '/' && first != '_') return false;
  if (text.back() == ' ' || text.back() == ':') return false;
  const bool allowed = std::ranges::all_of(text, [](char c) {
    return is_letter(c) || is_digit(c) || std::string_view(" -_./:@%+=,;()$^*<>!?").contains(c);
  });
  if (!allowed || text.contains(": ")) return false;
  // Dates, times and base 60 numbers are types of their own in YAML 1.1.
  if (is_digit(first) && (text.contains(':') || (text.size() > 4 && text[4] == '-'))) return false;
  return resolve_plain_scalar(text).is_string();
}

// True for text of several lines that a literal block gives back byte by byte.
bool is_safe_block(std::string_view text) {
  const std::size_t lines = text.find('\n');
  if (lines == std::string_view::npos || lines + 1 == text.size()) return false;
  if (text.front() == ' ' || text.front() == '\n' || text.ends_with("\n\n")) return false;
  if (text.contains(" \n") || text.back() == ' ') return false;
  return std::ranges::all_of(text, [](char c) { return (c >= ' ' && c < 0x7f) || c == '\n'; });
}

// A JSON string, save for the characters that YAML 1.1 takes for line breaks or a byte order mark.
void append_quoted(std::string& out, std::string_view text) {
  struct Escape {
    std::string_view bytes, escaped;
  };
  static constexpr Escape kEscapes[] = {{"\xC2\x85", "\\u0085"},
                                        {"\xE2\x80\xA8", "\\u2028"},
                                        {"\xE2\x80\xA9", "\\u2029"},
                                        {"\xEF\xBB\xBF", "\\ufeff"},
                                        {"\x7F", "\\u007f"}};
  std::string json;
  append_json_string(json, text);
  for (const auto& [bytes, escaped] : kEscapes) {
    for (auto at = json.find(bytes); at != std::string::npos; at = json.find(bytes, at)) {
      json.replace(at, bytes.size(), escaped);
    }
  }
  out += json;
}

class YamlWriter {
 public:
  // The value of "key:" or "-"; `indent` is where its own fields or items stand.
  void write_after_key(const Value& value, std::size_t indent) {
    const Object* object = value.if_object();
    const Array* array = value.if_array();
    if (object != nullptr && !object->empty()) {
      out_ += '\n';
      write_fields(*object, indent, false);
    } else if (array != nullptr && !array->empty()) {
      out_ += '\n';
      // Lists stand below their key, not right of it, as kubectl prints them.
      write_items(*array, indent - kStep, false);
    } else {
      out_ += ' ';
      write_scalar(value, indent);
    }
  }

  void write_document(const Value& value) {
    if (const Object* object = value.if_object(); object != nullptr && !object->empty()) {
      write_fields(*object, 0, false);
    } else if (const Array* array = value.if_array(); array != nullptr && !array->empty()) {
      write_items(*array, 0, false);
    } else {
      write_scalar(value, kStep);
    }
  }
  std::string take() { return std::move(out_); }

 private:
  static constexpr std::size_t kStep = 2;
  // Readers need not look further for the colon of a key that is not announced.
  static constexpr std::size_t kMaxPlainKey = 1024;

  void write_fields(const Object& object, std::size_t indent, bool first_in_place) {
    for (const auto& field : object) {
      if (!first_in_place) out_.append(indent, ' ');
      first_in_place = false;
      write_key(field.key(), indent);
      write_after_key(field.value(), indent + kStep);
    }
  }

  // Up to its colon.
  void write_key(std::string_view key, std::size_t indent) {
    const std::size_t begin = out_.size();
    append_text(key);
    if (out_.size() - begin > kMaxPlainKey) {
      out_.insert(begin, "? ");
      out_ += '\n';
      out_.append(indent, ' ');
    }
    out_ += ':';
  }

  void write_items(const Array& array, std::size_t indent, bool first_in_place) {
    for (const Value& item : array) {
      if (!first_in_place) out_.append(indent, ' ');
      first_in_place = false;
      out_ += "- ";
      if (const Object* object = item.if_object(); object != nullptr && !object->empty()) {
        write_fields(*object, indent + kStep, true);
      } else if (const Array* inner = item.if_array(); inner != nullptr && !inner->empty()) {
        write_items(*inner, indent + kStep, true);
      } else {
        write_scalar(item, indent + kStep);
      }
    }
  }

  void append_text(std::string_view text) {
    if (is_safe_plain(text)) {
      out_ += text;
    } else {
      append_quoted(out_, text);
    }
  }

  void write_scalar(const Value& value, std::size_t indent) {
    const auto* text = value.if_string();
    if (text != nullptr && is_safe_block(*text)) {
      write_block(*text, indent);
      return;
    }
    if (text != nullptr) {
      append_text(*text);
    } else {
      out_ += to_json(value);
    }
    out_ += '\n';
  }

  void write_block(std::string_view text, std::size_t indent) {
    const bool ends_with_break = text.back() == '\n';
    out_ += ends_with_break ? "|\n" : "|-\n";
    if (ends_with_break) text.remove_suffix(1);
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find('\n', begin), text.size());
      if (end > begin) out_.append(indent, ' ');
      out_ += text.substr(begin, end - begin);
      out_ += '\n';
      begin = end + 1;
    }
  }

  std::string out_;
};

}  // namespace

std::string to_yaml(const Value& value) {
  YamlWriter writer;
  writer.write_document(value);
  return writer.take();
}

}  // namespace berth::wire
