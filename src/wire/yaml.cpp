#include "wire/yaml.h"

#include <simdjson.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/string.hpp>
#include <map>
#include <sstream>

#include "base/encoding.h"
#include "wire/yaml_scalar.h"

namespace berth::wire {
namespace {

// What the anchors and aliases of one text may add up to, in values and bytes of text: nine lines
// of aliases to aliases would otherwise expand to a billion values.
constexpr std::size_t kMaxCopied = 1u << 20;

constexpr std::string_view kTagPrefix = "tag:yaml.org,2002:";

struct Anchored {
  Value value;
  std::size_t weight;
};

std::size_t weight_of(const Value& value) {
  std::size_t weight = 1;
  if (const Object* object = value.if_object()) {
    for (const auto& field : *object) weight += field.key().size() + weight_of(field.value());
  } else if (const Array* array = value.if_array()) {
    for (const Value& item : *array) weight += weight_of(item);
  } else if (const auto* text = value.if_string()) {
    weight += text->size();
  }
  return weight;
}

// Builds values from the parser's events. Only the first defect is kept; after it events pass by.
class Builder final : public YAML::EventHandler {
 public:
  std::vector<Value> documents;
  std::optional<Error> error;

  void OnDocumentStart(const YAML::Mark& mark) override {
    // On a stray token yaml-cpp begins empty documents in the same place for ever.
    if (mark.pos == start_) return refuse(mark, "expected the start of a document");
    start_ = mark.pos;
    anchors_.clear();
    open_.clear();
    root_.reset();
  }
  void OnDocumentEnd() override {
    if (!error && root_) documents.push_back(*std::move(root_));
  }
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    put(mark, nullptr, anchor, false);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (error) return;
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) return refuse(mark, "an alias stands inside its own anchor");
    if (may_copy(mark, found->second.weight)) put(mark, found->second.value, 0, false);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    if (error) return;
    const bool is_merge = tag == "?" && text == "<<";
    if (auto value = typed(mark, tag, text)) put(mark, *std::move(value), anchor, is_merge);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open(mark, tag, "seq", {.container = Array(), .anchor = anchor});
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open(mark, tag, "map", {.container = Object(), .anchor = anchor});
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    Value container;
    YAML::anchor_t anchor = 0;
    YAML::Mark mark{};
    std::optional<std::string> key{};
    bool merge_next = false;      // the key was `<<`
    std::vector<Value> merged{};  // the mappings that `<<` named, the strongest first
  };

  template <class... Args>
  void refuse(const YAML::Mark& mark, fmt::format_string<Args...> format, Args&&... args) {
    if (error) return;
    error = error_of(Code::invalid, "YAML line {} column {}: {}", mark.line + 1, mark.column + 1,
                     fmt::format(format, std::forward<Args>(args)...));
  }

  bool may_copy(const YAML::Mark& mark, std::size_t weight) {
    copied_ += weight;
    if (copied_ > kMaxCopied) {
      refuse(mark, "anchors and aliases add up to more than {} values and bytes", kMaxCopied);
    }
    return !error;
  }

  std::optional<Value> typed(const YAML::Mark& mark, std::string_view tag, std::string_view text) {
    if (tag == "?" || tag.empty()) return resolve_plain_scalar(text);
    if (tag == "!" || tag == "tag:yaml.org,2002:str") return Value(text);
    if (tag == "tag:yaml.org,2002:binary") {
      if (auto bytes = base64_decode(text)) return Value(*bytes);
      refuse(mark, "!!binary is not base64");
      return std::nullopt;
    }
    const std::string_view kind = tag.starts_with(kTagPrefix) ? tag.substr(kTagPrefix.size()) : "";
    Value value = resolve_plain_scalar(text);
    if (kind == "float" && value.is_number()) return value.to_number<double>();
    const bool fits = (kind == "null" && value.is_null()) || (kind == "bool" && value.is_bool()) ||
                      (kind == "int" && (value.is_int64() || value.is_uint64()));
    if (fits) return value;
    refuse(mark, "'{}' cannot be read with the tag {}", text, tag);
    return std::nullopt;
  }

  void open(const YAML::Mark& mark, std::string_view tag, std::string_view kind, Open frame) {
    if (error) return;
    const bool expected = tag.empty() || tag == "?" || tag == "!" ||
                          (tag.starts_with(kTagPrefix) && tag.substr(kTagPrefix.size()) == kind);
    if (!expected) return refuse(mark, "the tag {} is not known here", tag);
    if (open_.size() == kMaxDepth) return refuse(mark, "nests deeper than {}", kMaxDepth);
    frame.mark = mark;
    open_.push_back(std::move(frame));
  }

  void close() {
    if (error) return;
    Open frame = std::move(open_.back());
    open_.pop_back();
    for (Value& source : frame.merged) {
      for (auto&& field : source.get_object()) {
        frame.container.get_object().emplace(field.key(), std::move(field.value()));
      }
    }
    put(frame.mark, std::move(frame.container), frame.anchor, false);
  }

  // Hands a complete value to the container that is open, as its item, key or field.
  void put(const YAML::Mark& mark, Value value, YAML::anchor_t anchor, bool is_merge_key) {
    if (error) return;
    if (anchor != 0) {
      const std::size_t weight = weight_of(value);
      if (!may_copy(mark, weight)) return;
      anchors_[anchor] = {value, weight};
    }
    if (open_.empty()) {
      root_ = std::move(value);
      return;
    }
    Open& parent = open_.back();
    if (Array* array = parent.container.if_array()) {
      array->push_back(std::move(value));
    } else if (parent.merge_next) {
      merge(mark, parent, std::move(value));
    } else if (parent.key) {
      parent.container.get_object()[*parent.key] = std::move(value);
      parent.key.reset();
    } else if (is_merge_key) {
      parent.merge_next = true;
    } else {
      take_key(mark, parent, value);
    }
  }

  void take_key(const YAML::Mark& mark, Open& parent, const Value& key) {
    if (key.is_null() || key.is_structured()) {
      return refuse(mark, "a key must be text, a number or a boolean");
    }
    parent.key = key.is_string() ? std::string(key.get_string()) : to_json(key);
    if (parent.container.get_object().contains(*parent.key)) {
      refuse(mark, "the key '{}' is there twice", *parent.key);
    }
  }

  void merge(const YAML::Mark& mark, Open& parent, Value source) {
    parent.merge_next = false;
    Array sources;
    if (source.is_array()) {
      sources = std::move(source.get_array());
    } else {
      sources.push_back(std::move(source));
    }
    for (Value& one : sources) {
      if (!one.is_object()) return refuse(mark, "'<<' takes a mapping or a list of mappings");
      parent.merged.push_back(std::move(one));
    }
  }

  int start_ = -1;
  std::vector<Open> open_;
  std::optional<Value> root_;
  std::map<YAML::anchor_t, Anchored> anchors_;
  std::size_t copied_ = 0;
};

Result<std::vector<Value>> parse_all(std::string_view text) {
  // What kubectl does too; it also spares JSON's escapes from YAML's reading of them.
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && text[first] == '{') {
    if (auto json = parse_json(text)) return std::vector<Value>{*std::move(json)};
  }
  if (!simdjson::validate_utf8(text.data(), text.size())) {
    return fail(Code::invalid, "YAML must be UTF-8 text");
  }
  Builder builder;
  try {
    std::istringstream in{std::string(text)};
    YAML::Parser parser(in);
    while (!builder.error && parser.HandleNextDocument(builder)) {
    }
  } catch (const YAML::Exception& e) {
    if (builder.error) return fail(*std::move(builder.error));
    return fail(Code::invalid, "YAML line {} column {}: {}", e.mark.line + 1, e.mark.column + 1,
                e.msg);
  } catch (const std::exception& e) {
    return fail(Code::invalid, "YAML: {}", e.what());
  }
  if (builder.error) return fail(*std::move(builder.error));
  std::erase_if(builder.documents, [](const Value& document) { return document.is_null(); });
  return std::move(builder.documents);
}

}  // namespace

Result<Value> parse_yaml(std::string_view text) {
  auto documents = parse_all(text);
  if (!documents) return pass(documents);
  if (documents->size() > 1) {
    return fail(Code::invalid, "YAML with {} documents; one is expected", documents->size());
  }
  return documents->empty() ? Value(nullptr) : std::move(documents->front());
}

Result<std::vector<Value>> parse_yaml_documents(std::string_view text) { return parse_all(text); }

}  // namespace berth::wire
