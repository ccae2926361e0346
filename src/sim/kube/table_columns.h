// The columns that `kubectl get` shows of a kind: name, type, and what makes a cell. Pure.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"
#include "wire/value.h"

namespace berth::sim::kube {

struct TableColumn {
  std::string name{};
  std::string type = "string";
  std::string format{};
  std::string description{};
  std::int64_t priority = 0;  // above 0: with -o wide alone
  std::function<wire::Value(const wire::Value& object, WallTime now)> cell{};
};
using TableColumns = std::vector<TableColumn>;

// As the real server has them; name and creation time for kinds that it has no columns for.
const TableColumns& builtin_columns(std::string_view kind);
// additionalPrinterColumns of a version; the age alone where it has none.
TableColumns custom_columns(const wire::Value& version);

// "5m30s", "3d": two or three digits that matter.
std::string human_duration(Duration span);
// Since a time in RFC 3339; "<unknown>" when it is empty.
std::string human_age(std::string_view time, WallTime now);
// The list at a pointer; an empty one when there is none.
const wire::Array& items_at(const wire::Value& object, std::string_view pointer);
// "app=web,tier in (a,b),!old" of {matchLabels, matchExpressions}.
std::string selector_text(const wire::Value* selector);

}  // namespace berth::sim::kube
