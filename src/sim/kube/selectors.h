// Label and field selectors as lists, watches and webhooks use them. Plain values, pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/kube/kinds.h"
#include "wire/value.h"

namespace berth::sim::kube {

struct Requirement {
  enum class Operator : std::uint8_t { in, not_in, exists, does_not_exist, greater, less };
  std::string key{};
  Operator op = Operator::exists;
  std::vector<std::string> values{};
};

class LabelSelector {
 public:
  // "a=b,c!=d,e in (f,g),h notin (i),j,!k,l>1"
  static Outcome<LabelSelector> parse(std::string_view text);
  // {matchLabels, matchExpressions}; a missing selector matches everything.
  static LabelSelector from_object(const wire::Value* selector);

  bool empty() const { return requirements_.empty(); }
  // `labels` may be null.
  bool matches(const wire::Object* labels) const;

 private:
  std::vector<Requirement> requirements_;
};

class FieldSelector {
 public:
  // Only the fields that the real server knows for the kind.
  static Outcome<FieldSelector> parse(std::string_view text, const Kind& kind);
  void require(std::string field, std::string value);

  bool empty() const { return terms_.empty(); }
  bool matches(const wire::Value& object) const;

 private:
  struct Term {
    std::string pointer;
    std::string value;
    bool equal = true;
  };
  std::vector<Term> terms_;
};

struct Selectors {
  LabelSelector labels{};
  FieldSelector fields{};

  bool empty() const { return labels.empty() && fields.empty(); }
  bool matches(const wire::Value& object) const;
};

}  // namespace berth::sim::kube
