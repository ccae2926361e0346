// A fixture: the page that users have printed, and a playground to try its blocks on.
#pragma once

#include <string>
#include <vector>

#include "ingress_world.h"
#include "seed_page.h"

namespace berth {

inline void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

class Seeds : public IngressWorld {
 protected:
  void SetUp() override {
    const std::string file = find_seed();
    if (file.empty()) GTEST_SKIP() << "no ../shared/seeds beside the sources";
    blocks_ = blocks_of(read_file(file, kMaxPage).value());
    World::SetUp();
  }

  std::string block(int number) const {
    return blocks_.size() < static_cast<std::size_t>(number)
               ? std::string()
               : blocks_[static_cast<std::size_t>(number) - 1].text;
  }
  void make_namespace(const std::string& name) {
    create(
        fmt::format("apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {}\n  labels: "
                    "{{bcs-ingress-controller-inject: \"true\"}}\n",
                    name));
  }
  static std::string annotation(const Value& pod, std::string_view key) {
    return std::string(
        wire::string_at(pod, "/metadata/annotations/" + wire::escape_pointer_step(key)));
  }
  // The Pod of that namespace whose ports lead to it.
  Value ready_pod(const std::string& ns, const std::string& prefix) {
    Value found;
    EXPECT_TRUE(eventually([&] {
      for (const Value& pod : list(kube::types::kPod, ns)) {
        if (wire::string_at(pod, "/metadata/name").starts_with(prefix) &&
            annotation(pod, api::kBindStatusAnnotation) == "Ready")
          found = pod;
      }
      return !found.is_null();
    })) << prefix;
    return found;
  }
  static std::string variable(const Value& pod, std::string_view name) {
    const Array* env = wire::array_at(pod, "/spec/containers/0/env");
    for (const Value& one : env ? *env : Array{})
      if (wire::string_at(one, "/name") == name) return std::string(wire::string_at(one, "/value"));
    return {};
  }

  // The bindings that a block shows, which is JSON with remarks in it.
  static Value shown_bindings(const std::string& text) {
    const std::size_t begin = text.find("'[") + 1;
    std::string json = text.substr(begin, text.find("]'", begin) + 1 - begin);
    for (std::size_t at = 0; (at = json.find('#', at)) != std::string::npos;)
      json.erase(at, json.find('\n', at) - at);
    const auto value = wire::parse_json(json);
    EXPECT_TRUE(value) << json;
    return value.value_or(Value());
  }
  // Every field that is shown is there and the same, but for addresses and names of the cloud.
  static void expect_shown(const Value& pod, const Value& shown) {
    const auto told = wire::parse_json(annotation(pod, api::kPoolBindingsAnnotation));
    ASSERT_TRUE(told);
    ASSERT_TRUE(told->is_array() && shown.is_array());
    ASSERT_EQ(told->get_array().size(), shown.get_array().size());
    const auto& is = told->get_array()[0].get_object();
    for (const auto& field : shown.get_array()[0].get_object()) {
      const Value* const found = is.if_contains(field.key());
      ASSERT_TRUE(found) << field.key();
      if (field.key() != "poolItemLoadBalancers") {
        EXPECT_EQ(*found, field.value()) << field.key();
      }
    }
    EXPECT_EQ(wire::string_at(*told, "/0/poolItemLoadBalancers/0/loadbalancerID"),
              wire::string_at(shown, "/0/poolItemLoadBalancers/0/loadbalancerID"));
    EXPECT_FALSE(wire::string_at(*told, "/0/poolItemLoadBalancers/0/ips/0").empty());
  }

  std::vector<SeedBlock> blocks_;
};

}  // namespace berth
