#include "sim/kube/match_conditions.h"

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>

namespace berth::sim::kube {

namespace {

using wire::Value;

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// Parses and evaluates in one pass. What does not parse sets `broken_`, which no operator absorbs.
class Evaluator {
 public:
  Evaluator(std::string_view text, const Value& variables) : rest_(text), variables_(variables) {}

  Result<bool> run() {
    Result<Value> value = either();
    skip_space();
    if (!broken_ && !rest_.empty()) value = broken("unexpected '{}'", rest_);
    if (!value) return pass(value);
    if (!value->is_bool()) return fail(Code::invalid, "the expression must give a bool");
    return value->get_bool();
  }

 private:
  template <class... Args>
  Failure broken(fmt::format_string<Args...> format, Args&&... args) {
    broken_ = true;
    return fail(Code::invalid, format, std::forward<Args>(args)...);
  }

  void skip_space() {
    while (!rest_.empty() && (rest_.front() == ' ' || rest_.front() == '\n'))
      rest_.remove_prefix(1);
  }
  bool take(std::string_view token) {
    skip_space();
    if (!rest_.starts_with(token)) return false;
    if (is_name(token.back()) && rest_.size() > token.size() && is_name(rest_[token.size()])) {
      return false;
    }
    rest_.remove_prefix(token.size());
    return true;
  }

  Result<Value> either() {
    return chain("||", true, [this] { return both(); });
  }
  Result<Value> both() {
    return chain("&&", false, [this] { return unary(); });
  }

  // Operands joined by an operator that `decisive` decides whatever the others are.
  template <class Operand>
  Result<Value> chain(std::string_view sign, bool decisive, Operand operand) {
    Result<Value> result = operand();
    while (!broken_ && take(sign)) {
      Result<Value> next = operand();
      if (broken_) return next;
      const auto decides = [decisive](const Result<Value>& side) {
        return side && side->is_bool() && side->get_bool() == decisive;
      };
      if (decides(result) || decides(next)) {
        result = Value(decisive);
      } else if (result && !next) {
        result = std::move(next);
      }
    }
    return result;
  }

  Result<Value> unary() {
    skip_space();
    if (rest_.starts_with('!') && !rest_.starts_with("!=")) {
      rest_.remove_prefix(1);
      Result<Value> value = unary();
      if (value && value->is_bool()) return Value(!value->get_bool());
      if (value) return fail(Code::invalid, "'!' needs a bool");
      return value;
    }
    return comparison();
  }

  Result<Value> comparison() {
    Result<Value> left = operand();
    if (broken_) return left;
    const bool equal = take("==");
    const bool differ = !equal && take("!=");
    const bool within = !equal && !differ && take("in");
    if (!equal && !differ && !within) return left;
    Result<Value> right = operand();
    if (broken_ || !right) return right;
    if (!left) return left;
    if (!within) return Value((*left == *right) == equal);
    if (right->is_object() && left->is_string()) {
      return Value(right->get_object().contains(left->get_string()));
    }
    if (right->is_array()) {
      return Value(std::ranges::find(right->get_array(), *left) != right->get_array().end());
    }
    return fail(Code::invalid, "'in' needs a map or a list");
  }

  Result<Value> operand() {
    skip_space();
    if (take("(")) {
      Result<Value> value = either();
      if (!broken_ && !take(")")) return broken("')' is missing");
      return value;
    }
    if (take("has")) return has();
    if (take("true")) return Value(true);
    if (take("false")) return Value(false);
    if (take("null")) return Value();
    if (rest_.starts_with('\'') || rest_.starts_with('"')) return text();
    if (take("[")) return list();
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), number);
    if (error == std::errc{}) {
      rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
      return Value(number);
    }
    return path();
  }

  Result<Value> has() {
    if (!take("(")) return broken("'(' is missing after has");
    Result<Value> value = path();
    if (broken_) return value;
    if (!take(")")) return broken("')' is missing after has");
    return Value(value.has_value());
  }

  Result<Value> text() {
    const char quote = rest_.front();
    const std::size_t end = rest_.find(quote, 1);
    if (end == std::string_view::npos) return broken("a quote is missing");
    Value value(rest_.substr(1, end - 1));
    rest_.remove_prefix(end + 1);
    return value;
  }

  Result<Value> list() {
    wire::Array items;
    if (take("]")) return Value(std::move(items));
    for (;;) {
      Result<Value> item = operand();
      if (!item) return item;
      items.push_back(std::move(*item));
      if (take("]")) return Value(std::move(items));
      if (!take(",")) return broken("',' or ']' is missing");
    }
  }

  std::string_view name() {
    const auto end = std::ranges::find_if_not(rest_, is_name);
    const std::string_view word = rest_.substr(0, static_cast<std::size_t>(end - rest_.begin()));
    rest_.remove_prefix(word.size());
    return word;
  }

  Result<Value> path() {
    skip_space();
    const std::string_view root = name();
    if (root != "object" && root != "oldObject" && root != "request") {
      return broken("'{}' is not known", root.empty() ? rest_ : root);
    }
    const Value* at = variables_.get_object().if_contains(root);
    std::string missing;
    for (;;) {
      std::string step;
      if (rest_.starts_with('.')) {
        rest_.remove_prefix(1);
        step = name();
      } else if (rest_.starts_with('[')) {
        rest_.remove_prefix(1);
        skip_space();
        if (!rest_.starts_with('\'') && !rest_.starts_with('"')) return broken("a key is missing");
        Result<Value> key = text();
        if (!key) return key;
        step = key->get_string();
        if (!take("]")) return broken("']' is missing");
      } else {
        break;
      }
      if (at != nullptr) at = at->is_object() ? at->get_object().if_contains(step) : nullptr;
      if (at == nullptr && missing.empty()) missing = step;
    }
    if (at == nullptr) return fail(Code::not_found, "no such key: {}", missing);
    return *at;
  }

  std::string_view rest_;
  const Value& variables_;
  bool broken_ = false;
};

}  // namespace

Result<bool> evaluate_condition(std::string_view expression, const Value& variables) {
  return Evaluator(expression, variables).run();
}

}  // namespace berth::sim::kube
