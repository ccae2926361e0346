#pragma once

// What the state of a simulated cloud (`GET /dump`) says of a listener, in the words of tests.

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "wire/value.h"

namespace berth::testing {

// The listener of that load balancer; null where there is none.
inline wire::Value cloud_listener(const wire::Value& dump, std::string_view lb, int port,
                                  std::string_view protocol) {
  const wire::Array* const all = wire::array_at(dump, "/loadBalancers");
  for (const wire::Value& one : all ? *all : wire::Array{}) {
    if (wire::string_at(one, "/id") != lb) continue;
    for (const wire::Value& listener : *wire::array_at(one, "/listeners"))
      if (wire::int_at(listener, "/port") == port &&
          wire::string_at(listener, "/protocol") == protocol)
        return listener;
  }
  return {};
}

// "domain/path ip:port weight" of each target, sorted.
inline std::vector<std::string> cloud_targets(const wire::Value& listener) {
  std::vector<std::string> out;
  const wire::Array* rules = wire::array_at(listener, "/rules");
  for (const wire::Value& rule : rules ? *rules : wire::Array{}) {
    const std::string key =
        fmt::format("{}{}", wire::string_at(rule, "/domain"), wire::string_at(rule, "/url"));
    for (const wire::Value& target : *wire::array_at(rule, "/targets"))
      out.push_back(fmt::format(
          "{}{}{}:{} {}", key, key.empty() ? "" : " ", wire::string_at(target, "/ip"),
          wire::int_at(target, "/port").value_or(0), wire::int_at(target, "/weight").value_or(0)));
  }
  std::ranges::sort(out);
  return out;
}

}  // namespace berth::testing
