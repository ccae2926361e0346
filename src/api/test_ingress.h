// Ingresses of tests, from YAML.
#pragma once

#include <gtest/gtest.h>

#include "api/decode.h"
#include "wire/yaml.h"

namespace berth::api {

inline Ingress ingress_of(std::string_view yaml) {
  const auto value = wire::parse_yaml(yaml);
  EXPECT_TRUE(value) << value.error().to_string() << "\n" << yaml;
  if (!value) return {};
  auto decoded = decode_incoming_ingress(*value);
  EXPECT_TRUE(decoded) << decoded.error().to_string() << "\n" << yaml;
  return decoded ? *decoded : Ingress{};
}

// Of the load balancer lb-1, with this spec in flow style: "{rules: [...]}".
inline Ingress ingress_with(std::string_view spec) {
  return ingress_of(
      fmt::format("metadata:\n  namespace: games\n  name: web\n  annotations:\n    "
                  "networkextension.bkbcs.tencent.com/lbids: lb-1\nspec: {}\n",
                  spec));
}

}  // namespace berth::api
