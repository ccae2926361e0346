// The part of CEL that webhooks' match conditions need. Pure.
//
//   expression := and ("||" and)*            and      := unary ("&&" unary)*
//   unary      := "!" unary | comparison     comparison := operand (("==" | "!=" | "in") operand)?
//   operand    := "(" expression ")" | "has(" path ")" | path | 'text' | "text" | integer
//               | true | false | null | "[" operand ("," operand)* "]"
//   path       := (object | oldObject | request) ("." name | "['key']")*
//
// As in CEL, a field that is not there is an error, and "&&" and "||" give their answer when one
// side decides it.
#pragma once

#include <string_view>

#include "base/result.h"
#include "wire/value.h"

namespace berth::sim::kube {

// `variables` is an object with the members object, oldObject and request.
Result<bool> evaluate_condition(std::string_view expression, const wire::Value& variables);

}  // namespace berth::sim::kube
