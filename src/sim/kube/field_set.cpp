#include "sim/kube/field_set.h"

#include <algorithm>
#include <boost/json.hpp>
#include <map>

#include <fmt/format.h>

#include "base/encoding.h"
#include "sim/kube/text_cursor.h"

namespace berth::sim::kube {

namespace {

using wire::Value;

std::string unescaped(std::string_view step) {
  Result<Value> text = wire::parse_json(fmt::format("\"{}\"", step));
  return text && text->is_string() ? std::string(text->get_string()) : std::string(step);
}

// One key of FieldsV1 in our own spelling; empty when it is none.
std::string canonical_step(std::string_view key) {
  if (key.size() < 2 || key[1] != ':') return {};
  const std::string_view rest = key.substr(2);
  if (key[0] == 'f') return field_step(rest);
  Result<Value> value = wire::parse_json(rest);
  if (!value) return {};
  if (key[0] == 'k' && value->is_object()) return key_step(value->get_object());
  if (key[0] == 'v') return value_step(*value);
  return key[0] == 'i' && value->is_int64() ? json_escaped(key) : std::string();
}

}  // namespace

std::string json_escaped(std::string_view text) {
  std::string quoted;
  append_json_string(quoted, text);
  return quoted.substr(1, quoted.size() - 2);
}

std::string field_step(std::string_view name) { return "f:" + json_escaped(name); }

std::string key_step(const wire::Object& keys) {
  std::map<std::string_view, const Value*> sorted;
  for (const auto& key : keys) sorted[key.key()] = &key.value();
  std::string text = "k:{";
  for (const auto& [key, value] : sorted) {
    if (text.back() != '{') text += ',';
    append_json_string(text, key);
    text += ':' + wire::to_json(*value);
  }
  return json_escaped(text + '}');
}

std::string value_step(const Value& value) { return json_escaped("v:" + wire::to_json(value)); }

std::string shown_step(std::string_view step) {
  const std::string text = unescaped(step);
  const std::string rest = text.substr(2);
  if (text[0] == 'f') return "." + rest;
  if (text[0] == 'i') return fmt::format("[{}]", rest);
  if (text[0] == 'v') return fmt::format("[={}]", rest);
  std::string shown;
  const Result<Value> keys = wire::parse_json(rest);
  for (const auto& key : keys && keys->is_object() ? keys->get_object() : wire::Object()) {
    shown += fmt::format("{}{}={}", shown.empty() ? "" : ",", std::string_view(key.key()),
                         wire::to_json(key.value()));
  }
  return "[" + shown + "]";
}

// {"step":{...},"step":{}} with the steps in order; "." first, where the field itself is a member
// beside others below it.
class FieldSetParser {
 public:
  explicit FieldSetParser(std::string_view text) : text_(text) {}

  std::optional<FieldSet> parse() {
    FieldSet set;
    bool member = false;
    if (!fields(set, member, 0) || !text_.at_end()) return std::nullopt;
    // Of the whole object nobody is a member.
    if (member && !set.empty()) return std::nullopt;
    return set;
  }

 private:
  bool fields(FieldSet& set, bool& member, std::size_t depth) {
    if (depth > wire::kMaxDepth || !text_.take("{")) return false;
    if (text_.take("}")) return member = true;
    if (text_.take(R"(".":{},)")) member = true;
    do {
      const std::optional<std::string_view> step = text_.quoted();
      if (!step || step->size() < 2 || (*step)[1] != ':' || !text_.take(":")) return false;
      if (!set.nodes_.empty() && set.nodes_.back().step >= *step) return false;
      FieldSet::Node& node = set.nodes_.emplace_back(std::string(*step));
      if (!fields(node.below, node.member, depth + 1)) return false;
    } while (text_.take(","));
    return text_.take("}");
  }

  TextCursor text_;
};

std::optional<FieldSet> FieldSet::parse(std::string_view text) {
  return FieldSetParser(text).parse();
}

std::optional<FieldSet> FieldSet::from_json(const Value& fields) {
  if (!fields.is_object()) return std::nullopt;
  FieldSet set;
  for (const auto& field : fields.get_object()) {
    if (field.key() == ".") continue;
    const std::string step = canonical_step(field.key());
    std::optional<FieldSet> below = from_json(field.value());
    if (step.empty() || !below) return std::nullopt;
    Node& node = set.at(step);
    node.member = below->empty() || field.value().get_object().contains(".");
    node.below = std::move(*below);
  }
  return set;
}

void FieldSet::append(std::string& out, bool member) const {
  out += '{';
  if (member && !nodes_.empty()) out += R"(".":{},)";
  for (const Node& node : nodes_) {
    if (&node != nodes_.data()) out += ',';
    out += '"';
    out += node.step;
    out += "\":";
    node.below.append(out, node.member);
  }
  out += '}';
}

std::string FieldSet::text() const {
  std::string out;
  append(out, false);
  return out;
}

void FieldSet::collect(const std::string& prefix, std::vector<std::string>& out) const {
  for (const Node& node : nodes_) {
    if (node.member) out.push_back(prefix + shown_step(node.step));
  }
  for (const Node& node : nodes_) node.below.collect(prefix + shown_step(node.step), out);
}

std::vector<std::string> FieldSet::paths() const {
  std::vector<std::string> out;
  collect({}, out);
  return out;
}

FieldSet::Node& FieldSet::at(std::string_view step) {
  const auto found = std::ranges::lower_bound(nodes_, step, {}, &Node::step);
  if (found != nodes_.end() && found->step == step) return *found;
  return *nodes_.insert(found, Node{.step = std::string(step)});
}

void FieldSet::insert(const FieldPath& path) {
  std::vector<const FieldPath*> way;
  for (const FieldPath* one = &path; one != nullptr; one = one->up) way.push_back(one);
  FieldSet* set = this;
  for (auto one = way.rbegin(); one != way.rend(); ++one) {
    const FieldPath& step = **one;
    Node& node = step.is_step ? set->at(step.text) : set->at(field_step(step.text));
    if (one + 1 == way.rend()) node.member = true;
    set = &node.below;
  }
}

const FieldSet::Node* FieldSet::find(std::string_view step) const {
  const auto found = std::ranges::lower_bound(nodes_, step, {}, &Node::step);
  return found != nodes_.end() && found->step == step ? &*found : nullptr;
}

namespace {

// Walks over the text below a field beside the set below it; `member`: it is in the other set.
std::size_t count_shared(TextCursor& text, const FieldSet& with, bool member) {
  (void)text.take("{");
  if (text.take("}")) return member ? 1 : 0;
  std::size_t shared = 0;
  do {
    const std::string_view step = text.quoted().value_or("");
    (void)text.take(":");
    const FieldSet::Node* node = with.find(step);
    if (node != nullptr) {
      shared += count_shared(text, node->below, node->member);
    } else {
      if (step == "." && member) ++shared;
      (void)text.object();
    }
  } while (text.take(","));
  (void)text.take("}");
  return shared;
}

}  // namespace

std::size_t FieldSet::shared_members(std::string_view text, const FieldSet& with) {
  TextCursor cursor(text);
  return count_shared(cursor, with, false);
}

std::size_t FieldSet::size() const {
  std::size_t members = 0;
  for (const Node& node : nodes_) members += (node.member ? 1 : 0) + node.below.size();
  return members;
}

template <class Keep>
FieldSet FieldSet::combined(const FieldSet& a, const FieldSet& b, Keep keep) {
  static const Node kNone;
  FieldSet result;
  auto left = a.nodes_.begin();
  auto right = b.nodes_.begin();
  while (left != a.nodes_.end() || right != b.nodes_.end()) {
    const int order = left == a.nodes_.end()    ? 1
                      : right == b.nodes_.end() ? -1
                                                : left->step.compare(right->step);
    const Node& mine = order <= 0 ? *left++ : kNone;
    const Node& theirs = order >= 0 ? *right++ : kNone;
    Node node{.step = order <= 0 ? mine.step : theirs.step,
              .member = keep(mine.member, theirs.member),
              .below = combined(mine.below, theirs.below, keep)};
    if (node.member || !node.below.empty()) result.nodes_.push_back(std::move(node));
  }
  return result;
}

FieldSet FieldSet::united(const FieldSet& other) const {
  return combined(*this, other, [](bool a, bool b) { return a || b; });
}
FieldSet FieldSet::intersected(const FieldSet& other) const {
  return combined(*this, other, [](bool a, bool b) { return a && b; });
}
FieldSet FieldSet::without(const FieldSet& other) const {
  return combined(*this, other, [](bool a, bool b) { return a && !b; });
}

bool operator==(const FieldSet& a, const FieldSet& b) { return a.nodes_ == b.nodes_; }

}  // namespace berth::sim::kube
