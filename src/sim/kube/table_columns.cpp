#include "sim/kube/table_columns.h"

#include <algorithm>
#include <boost/json.hpp>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/kube/json_path.h"

namespace berth::sim::kube {

namespace {

using wire::Array;
using wire::Object;
using wire::Value;

Value custom_cell(std::string_view type, const Value& value, WallTime now) {
  if (type == "string") {
    if (value.is_null()) return nullptr;
    return value.is_string() ? value : Value(wire::to_json(value));
  }
  if (type == "date" && value.is_string()) return Value(human_age(value.get_string(), now));
  if (type == "boolean" && value.is_bool()) return value;
  if (type == "number" && value.is_number()) return value;
  if (type != "integer" || !value.is_number()) return nullptr;
  return value.is_double() ? Value(static_cast<std::int64_t>(value.get_double())) : value;
}

TableColumn custom_column(const Value& from) {
  TableColumn column;
  column.name = wire::string_at(from, "/name");
  column.type = wire::string_at(from, "/type");
  column.format = wire::string_at(from, "/format");
  column.priority = wire::int_at(from, "/priority").value_or(0);
  const std::string_view path = wire::string_at(from, "/jsonPath");
  column.description = wire::string_at(from, "/description");
  if (column.description.empty()) {
    column.description =
        fmt::format("Custom resource definition column (in JSONPath format): {}", path);
  }
  column.cell = [type = column.type, path = JsonPath::parse(path)](const Value& object,
                                                                   WallTime now) -> Value {
    const Value* found = path ? path->first(object) : nullptr;
    return found == nullptr ? Value() : custom_cell(type, *found, now);
  };
  return column;
}

}  // namespace

const Array& items_at(const Value& object, std::string_view pointer) {
  static const Array kNone;
  const Array* list = wire::array_at(object, pointer);
  return list == nullptr ? kNone : *list;
}

std::string human_age(std::string_view time, WallTime now) {
  if (time.empty()) return "<unknown>";
  const Result<WallTime> at = parse_rfc3339(time);
  return at ? human_duration(now - *at) : "<invalid>";
}

TableColumns custom_columns(const Value& version) {
  TableColumns columns = builtin_columns("ServiceAccount");  // name and age
  columns.back().type = "date";
  if (items_at(version, "/additionalPrinterColumns").empty()) return columns;
  columns.pop_back();
  for (const Value& one : items_at(version, "/additionalPrinterColumns")) {
    columns.push_back(custom_column(one));
  }
  return columns;
}

std::string human_duration(Duration span) {
  using namespace std::chrono;
  const auto whole = duration_cast<seconds>(span).count();
  if (whole < -1) return "<invalid>";
  const auto two = [](auto big, char big_unit, auto small, char small_unit) {
    return small == 0 ? fmt::format("{}{}", big, big_unit)
                      : fmt::format("{}{}{}{}", big, big_unit, small, small_unit);
  };
  if (whole < 120) return fmt::format("{}s", std::max<decltype(whole)>(whole, 0));
  const auto minutes = whole / 60, hours = minutes / 60, days = hours / 24;
  if (minutes < 10) return two(minutes, 'm', whole % 60, 's');
  if (minutes < 180) return fmt::format("{}m", minutes);
  if (hours < 8) return two(hours, 'h', minutes % 60, 'm');
  if (hours < 48) return fmt::format("{}h", hours);
  if (days < 8) return two(days, 'd', hours % 24, 'h');
  if (days < 730) return fmt::format("{}d", days);
  return days < 8 * 365 ? two(days / 365, 'y', days % 365, 'd') : fmt::format("{}y", days / 365);
}

std::string selector_text(const Value* selector) {
  if (selector == nullptr) return {};
  std::map<std::string, std::string> terms;  // by key, as Go prints them
  const Object* labels = wire::object_at(*selector, "/matchLabels");
  for (const auto& label : labels == nullptr ? Object() : *labels) {
    if (!label.value().is_string()) continue;
    terms[label.key()] = fmt::format("{}={}", std::string_view(label.key()),
                                     std::string_view(label.value().get_string()));
  }
  for (const Value& term : items_at(*selector, "/matchExpressions")) {
    const std::string key(wire::string_at(term, "/key"));
    const std::string_view op = wire::string_at(term, "/operator");
    std::vector<std::string> values;
    for (const Value& value : items_at(term, "/values")) values.emplace_back(value.get_string());
    std::ranges::sort(values);
    terms[key] =
        op == "Exists" ? key
        : op == "DoesNotExist"
            ? "!" + key
            : fmt::format("{} {} ({})", key, op == "In" ? "in" : "notin", fmt::join(values, ","));
  }
  std::vector<std::string> texts;
  for (auto& [key, term] : terms) texts.push_back(std::move(term));
  return fmt::format("{}", fmt::join(texts, ","));
}

}  // namespace berth::sim::kube
