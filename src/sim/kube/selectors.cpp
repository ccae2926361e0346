#include "sim/kube/selectors.h"

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>
#include <initializer_list>
#include <optional>

#include <fmt/format.h>

#include "sim/kube/object_meta.h"

namespace berth::sim::kube {

namespace {

using Operator = Requirement::Operator;

// Splits a selector into words and the signs "(", ")", ",", "=", "==", "!=", "!", ">", "<".
constexpr std::string_view kSigns = "(),=!<>";

class Tokens {
 public:
  explicit Tokens(std::string_view text) : rest_(text) {}

  std::string_view next() {
    while (rest_.starts_with(' ')) rest_.remove_prefix(1);
    if (rest_.empty()) return {};
    std::size_t length = 1;
    if (rest_.starts_with("==") || rest_.starts_with("!=")) {
      length = 2;
    } else if (kSigns.find(rest_.front()) == std::string_view::npos) {
      length = std::min(rest_.find_first_of(kEndsOfWord), rest_.size());
    }
    const std::string_view token = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return token;
  }
  std::string_view peek() const { return Tokens(rest_).next(); }

 private:
  static constexpr std::string_view kEndsOfWord = " (),=!<>";
  std::string_view rest_;
};

bool is_word(std::string_view token) {
  return !token.empty() && kSigns.find(token.front()) == std::string_view::npos;
}

ApiError unexpected(std::string_view found, std::string_view wanted) {
  return bad_request(fmt::format("found '{}', expected: {}", found, wanted));
}

ApiError bad_value(std::string_view where, std::string_view value, std::string_view why) {
  return bad_request(fmt::format("{}: Invalid value: \"{}\": {}", where, value, why));
}

std::optional<std::int64_t> integer_of(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

Outcome<std::vector<std::string>> parse_values(Tokens& tokens) {
  if (const auto open = tokens.next(); open != "(") {
    return refuse(bad_request(fmt::format("found '{}' expected: '('", open)));
  }
  std::vector<std::string> values;
  for (;;) {
    if (is_word(tokens.peek())) {
      values.emplace_back(tokens.next());
    } else {
      values.emplace_back();
    }
    const std::string_view after = tokens.next();
    if (after == ")") return values;
    if (after != ",") return refuse(unexpected(after, "',' or ')'"));
  }
}

Outcome<> check_requirement(const Requirement& requirement) {
  const bool compares = requirement.op == Operator::greater || requirement.op == Operator::less;
  for (std::size_t i = 0; i < requirement.values.size(); ++i) {
    const std::string& value = requirement.values[i];
    if (compares && !integer_of(value)) {
      return refuse(bad_value(fmt::format("values[{}]", i), value,
                              "for 'Gt', 'Lt' operators, the value must be an integer"));
    }
    for (const std::string& defect : label_value_defects(value)) {
      return refuse(bad_value(fmt::format("values[{}][{}]", i, requirement.key), value, defect));
    }
  }
  return {};
}

std::optional<Operator> operator_of(std::string_view sign) {
  if (sign == "=" || sign == "==" || sign == "in") return Operator::in;
  if (sign == "!=" || sign == "notin") return Operator::not_in;
  if (sign == ">") return Operator::greater;
  if (sign == "<") return Operator::less;
  return std::nullopt;
}

Outcome<Requirement> parse_requirement(Tokens& tokens) {
  Requirement requirement;
  if (tokens.peek() == "!") {
    tokens.next();
    requirement.op = Operator::does_not_exist;
  }
  const std::string_view key = tokens.next();
  if (!is_word(key)) return refuse(unexpected(key, "identifier"));
  for (const std::string& defect : qualified_name_defects(key)) {
    return refuse(bad_value("<nil>", key, defect));
  }
  requirement.key = key;
  if (requirement.op == Operator::does_not_exist) return requirement;

  const std::string_view sign = tokens.peek();
  if (sign.empty() || sign == ",") return requirement;
  tokens.next();
  const std::optional<Operator> op = operator_of(sign);
  if (!op) return refuse(unexpected(sign, "in, notin, =, ==, !=, gt, lt"));
  requirement.op = *op;
  if (sign == "in" || sign == "notin") {
    Outcome<std::vector<std::string>> values = parse_values(tokens);
    if (!values) return refuse(values);
    requirement.values = std::move(*values);
  } else {
    requirement.values.emplace_back(is_word(tokens.peek()) ? tokens.next() : std::string_view{});
  }
  if (Outcome<> fine = check_requirement(requirement); !fine) return refuse(fine);
  return requirement;
}

bool compares(const Requirement& requirement, const wire::Value* label) {
  if (label == nullptr || !label->is_string()) return false;
  const auto value = integer_of(label->get_string());
  const auto bound = integer_of(requirement.values.front());
  if (!value || !bound) return false;
  return requirement.op == Operator::greater ? *value > *bound : *value < *bound;
}

bool holds(const Requirement& requirement, const wire::Object* labels) {
  const wire::Value* value = labels == nullptr ? nullptr : labels->if_contains(requirement.key);
  const auto listed = [&] {
    return value->is_string() &&
           std::ranges::find(requirement.values, std::string_view(value->get_string())) !=
               requirement.values.end();
  };
  switch (requirement.op) {
    case Operator::exists: return value != nullptr;
    case Operator::does_not_exist: return value == nullptr;
    case Operator::in: return value != nullptr && listed();
    case Operator::not_in: return value == nullptr || !listed();
    case Operator::greater:
    case Operator::less: return compares(requirement, value);
  }
  return false;
}

std::optional<Operator> operator_named(std::string_view name) {
  if (name == "In") return Operator::in;
  if (name == "NotIn") return Operator::not_in;
  if (name == "Exists") return Operator::exists;
  if (name == "DoesNotExist") return Operator::does_not_exist;
  return std::nullopt;
}

struct KnownFields {
  std::string_view group, plural;
  std::initializer_list<std::string_view> fields;
};

const KnownFields kKnownFields[] = {
    {"",
     "pods",
     {"spec.nodeName", "spec.restartPolicy", "spec.schedulerName", "spec.serviceAccountName",
      "spec.hostNetwork", "status.phase", "status.podIP", "status.nominatedNodeName"}},
    {"",
     "events",
     {"involvedObject.kind", "involvedObject.namespace", "involvedObject.name",
      "involvedObject.uid", "involvedObject.apiVersion", "involvedObject.resourceVersion",
      "involvedObject.fieldPath", "reason", "reportingComponent", "type"}},
    {"", "namespaces", {"status.phase"}},
    {"", "nodes", {"spec.unschedulable"}},
    {"", "secrets", {"type"}},
    {"", "services", {"spec.clusterIP", "spec.type"}},
};

Outcome<> check_field(std::string_view field, const Kind& kind) {
  if (field == "metadata.name") return {};
  if (field == "metadata.namespace" && kind.namespaced) return {};
  for (const KnownFields& known : kKnownFields) {
    if (known.group != kind.group || known.plural != kind.plural) continue;
    if (std::ranges::find(known.fields, field) != known.fields.end()) return {};
    return refuse(bad_request(fmt::format("field label not supported: {}", field)));
  }
  if (kind.custom) return refuse(bad_request(fmt::format("field label not supported: {}", field)));
  return refuse(bad_request(fmt::format(
      R"("{}" is not a known field selector: only "metadata.name", "metadata.namespace")", field)));
}

// Fields that are not there compare as Go's zero value of their type.
std::string text_at(const wire::Value& object, std::string_view pointer) {
  const wire::Value* value = wire::find(object, pointer);
  if (value == nullptr) {
    const bool flag = pointer == "/spec/unschedulable" || pointer == "/spec/hostNetwork";
    return flag ? "false" : "";
  }
  if (value->is_string()) return std::string(value->get_string());
  return wire::to_json(*value);
}

}  // namespace

Outcome<LabelSelector> LabelSelector::parse(std::string_view text) {
  LabelSelector selector;
  Tokens tokens(text);
  while (!tokens.peek().empty()) {
    const std::string_view first = tokens.peek();
    if (!is_word(first) && first != "!") {
      const bool behind_comma = !selector.requirements_.empty();
      return refuse(unexpected(
          first, behind_comma ? "identifier after ','" : "!, identifier, or 'end of string'"));
    }
    Outcome<Requirement> requirement = parse_requirement(tokens);
    if (!requirement) {
      requirement.error().message = "unable to parse requirement: " + requirement.error().message;
      return refuse(requirement);
    }
    selector.requirements_.push_back(std::move(*requirement));
    const std::string_view separator = tokens.next();
    if (separator.empty()) break;
    if (separator != ",") return refuse(unexpected(separator, "',' or 'end of string'"));
    if (tokens.peek().empty()) return refuse(unexpected({}, "identifier after ','"));
  }
  return selector;
}

LabelSelector LabelSelector::from_object(const wire::Value* selector) {
  LabelSelector parsed;
  if (selector == nullptr) return parsed;
  if (const wire::Object* labels = wire::object_at(*selector, "/matchLabels")) {
    for (const auto& label : *labels) {
      if (!label.value().is_string()) continue;
      parsed.requirements_.push_back(
          {std::string(label.key()), Operator::in, {std::string(label.value().get_string())}});
    }
  }
  const wire::Array* expressions = wire::array_at(*selector, "/matchExpressions");
  if (expressions == nullptr) return parsed;
  for (const wire::Value& expression : *expressions) {
    const auto op = operator_named(wire::string_at(expression, "/operator"));
    if (!op) continue;
    Requirement requirement{std::string(wire::string_at(expression, "/key")), *op, {}};
    if (const wire::Array* values = wire::array_at(expression, "/values")) {
      for (const wire::Value& value : *values) {
        if (value.is_string()) requirement.values.emplace_back(value.get_string());
      }
    }
    parsed.requirements_.push_back(std::move(requirement));
  }
  return parsed;
}

bool LabelSelector::matches(const wire::Object* labels) const {
  return std::ranges::all_of(requirements_,
                             [labels](const Requirement& one) { return holds(one, labels); });
}

Outcome<FieldSelector> FieldSelector::parse(std::string_view text, const Kind& kind) {
  FieldSelector selector;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view term = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t sign = term.find_first_of("!=");
    if (sign == std::string_view::npos) {
      return refuse(
          bad_request(fmt::format("invalid selector: '{}'; can't understand '{}'", term, term)));
    }
    const bool equal = term[sign] == '=';
    std::size_t value = sign + 1;
    if (value < term.size() && term[value] == '=') ++value;
    const std::string_view field = term.substr(0, sign);
    if (Outcome<> known = check_field(field, kind); !known) return refuse(known);
    selector.require(std::string(field), std::string(term.substr(value)));
    selector.terms_.back().equal = equal;
  }
  return selector;
}

void FieldSelector::require(std::string field, std::string value) {
  std::ranges::replace(field, '.', '/');
  terms_.push_back({"/" + field, std::move(value)});
}

bool FieldSelector::matches(const wire::Value& object) const {
  return std::ranges::all_of(terms_, [&object](const Term& term) {
    return (text_at(object, term.pointer) == term.value) == term.equal;
  });
}

bool Selectors::matches(const wire::Value& object) const {
  return (labels.empty() || labels.matches(wire::object_at(object, "/metadata/labels"))) &&
         (fields.empty() || fields.matches(object));
}

}  // namespace berth::sim::kube
