#include "sim/kube/field_set.h"

#include <algorithm>
#include <boost/json.hpp>
#include <map>

#include <fmt/format.h>

#include "base/encoding.h"

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
  explicit FieldSetParser(std::string_view text) : rest_(text) {}

  std::optional<FieldSet> parse() {
    FieldSet set;
    bool member = false;
    if (!fields(set, member, 0) || !rest_.empty()) return std::nullopt;
    // Of the whole object nobody is a member.
    if (member && !set.empty()) return std::nullopt;
    return set;
  }

 private:
  bool take(std::string_view token) {
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }

  // Up to the quote that ends it.
  std::optional<std::string_view> step() {
    if (!take("\"")) return std::nullopt;
    for (std::size_t i = 0; i < rest_.size(); ++i) {
      if (rest_[i] == '\\') {
        ++i;
      } else if (rest_[i] == '"') {
        const std::string_view found = rest_.substr(0, i);
        rest_.remove_prefix(i + 1);
        return found;
      }
    }
    return std::nullopt;
  }

  bool fields(FieldSet& set, bool& member, std::size_t depth) {
    if (depth > wire::kMaxDepth || !take("{")) return false;
    if (take("}")) return member = true;
    if (take(R"(".":{},)")) member = true;
    do {
      const std::optional<std::string_view> name = step();
      if (!name || name->size() < 2 || (*name)[1] != ':' || !take(":")) return false;
      if (!set.nodes_.empty() && set.nodes_.back().step >= *name) return false;
      FieldSet::Node& node = set.nodes_.emplace_back(std::string(*name));
      if (!fields(node.below, node.member, depth + 1)) return false;
    } while (take(","));
    return take("}");
  }

  std::string_view rest_;
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

// Walks over the text of a set beside another set.
class FieldSetScanner {
 public:
  explicit FieldSetScanner(std::string_view text) : rest_(text) {}

  // At the opening brace of what lies below a field that `node` stands for (null: for the root).
  std::size_t count(const FieldSet& below, bool member) {
    std::size_t shared = 0;
    skip(1);
    if (next() == '}') shared += member;
    while (next() == '"') {
      const std::string_view step = take_step();
      skip(1);  // the colon
      const FieldSet::Node* node = step == "." ? nullptr : below.find(step);
      if (step == ".") shared += member;
      if (node != nullptr) {
        shared += count(node->below, node->member);
      } else {
        skip_braces();
      }
      if (next() == ',') skip(1);
    }
    skip(1);
    return shared;
  }

 private:
  char next() const { return rest_.empty() ? '\0' : rest_.front(); }
  void skip(std::size_t count) { rest_.remove_prefix(std::min(count, rest_.size())); }

  std::string_view take_step() {
    std::size_t end = 1;
    for (; end < rest_.size() && rest_[end] != '"'; ++end) end += rest_[end] == '\\';
    const std::string_view step = rest_.substr(1, end - 1);
    skip(end + 1);
    return step;
  }

  void skip_braces() {
    std::size_t depth = 0;
    do {
      if (next() == '"') {
        take_step();
        continue;
      }
      depth += next() == '{';
      depth -= next() == '}';
      skip(1);
    } while (depth > 0 && !rest_.empty());
  }

  std::string_view rest_;
};

std::size_t FieldSet::shared_members(std::string_view text, const FieldSet& with) {
  return FieldSetScanner(text).count(with, false);
}

std::size_t FieldSet::size() const {
  std::size_t members = 0;
  for (const Node& node : nodes_) members += (node.member ? 1 : 0) + node.below.size();
  return members;
}

bool FieldSet::intersects(const FieldSet& other) const {
  return std::ranges::any_of(other.nodes_, [this](const Node& theirs) {
    const Node* ours = find(theirs.step);
    return ours != nullptr &&
           ((ours->member && theirs.member) || ours->below.intersects(theirs.below));
  });
}

bool FieldSet::contains(const FieldSet& other) const {
  return std::ranges::all_of(other.nodes_, [this](const Node& theirs) {
    const Node* ours = find(theirs.step);
    return ours != nullptr && (ours->member || !theirs.member) &&
           ours->below.contains(theirs.below);
  });
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
