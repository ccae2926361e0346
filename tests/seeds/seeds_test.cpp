// The YAML that users of bcs-ingress-controller know works as it is printed. Every block of the
// page has a row that says what is done with it; a fresh playground for each story.

#include <gmock/gmock.h>

#include "seeds_world.h"
#include "wire/yaml.h"

namespace berth {
namespace {

using wire::Array;
using wire::Value;

enum class Use : std::uint8_t {
  applied,    // as it is printed
  completed,  // with distinct values for placeholders, or with fewer ports
  compared,   // it shows a result
  left        // not applied
};

struct Row {
  int block;  // from 1 on, in the order of the page
  Use use;
  const char* why;
};

constexpr const char* kIngress = "ingress_stories_test.cpp";
constexpr const char* kCommand = "a command: the stories do what it says";
constexpr const char* kDrawing = "a drawing";

const std::vector<Row> kRows{
    {1, Use::left, "credentials of a cloud"},
    {2, Use::applied, ""},
    {3, Use::applied, ""},
    {4, Use::left, kCommand},
    {5, Use::applied, kIngress},
    {6, Use::applied, kIngress},
    {7, Use::applied, kIngress},
    {8, Use::applied, ""},
    {9, Use::left, kCommand},
    {10, Use::left, kCommand},
    {11, Use::left, "the shape of the annotations of block 12"},
    {12, Use::applied, ""},
    {13, Use::left, kCommand},
    {14, Use::left, kDrawing},
    {15, Use::applied, kIngress},
    {16, Use::left, kDrawing},
    {17, Use::applied, kIngress},
    {18, Use::left, "a fragment: its lines are dots"},
    {19, Use::left, kDrawing},
    {20, Use::applied, kIngress},
    {21, Use::left, kDrawing},
    {22, Use::applied, kIngress},
    {23, Use::applied, kIngress},
    {24, Use::left, "the annotations of block 25"},
    {25, Use::applied, ""},
    {26, Use::compared, "what becomes of block 25; its labels lie one level too deep"},
    {27, Use::left, kDrawing},
    {28, Use::applied, kIngress},
    {29, Use::applied, kIngress},
    {30, Use::completed, "a mapping without its object, re-indented; ingress_stories_test.cpp"},
    {31, Use::applied, ""},
    {32, Use::compared, "what becomes of block 31"},
    {33, Use::left, kCommand},
    {34, Use::applied, ""},
    {35, Use::compared, "what becomes of block 34"},
    {36, Use::left, "the annotations of block 35 as a file; docs/playground.md reads one"},
    {37, Use::left, kCommand},
    {38, Use::completed, "20 ports for each item instead of 1,000; pool_stories_test.cpp"},
    {39, Use::completed, "20 ports instead of 1,000; pool_stories_test.cpp"},
    {40, Use::completed, "each form of the annotation by itself; pool_stories_test.cpp"},
    {41, Use::applied, ""},
    {42, Use::compared, "what becomes of a Pod with block 41"},
    {43, Use::applied, ""},
    {44, Use::compared, "what becomes of a Pod with block 43"},
    {45, Use::applied, kIngress},
    {46, Use::completed, "placeholders of two regions become distinct ids; pool_stories_test.cpp"},
    {47, Use::completed, kIngress},
    {48, Use::left, kCommand},
    {49, Use::left, kCommand},
    {50, Use::left, "a fragment without containers"},
};

TEST_F(Seeds, EveryBlockOfThePageHasARow) {
  ASSERT_EQ(blocks_.size(), kRows.size());
  for (std::size_t i = 0; i < kRows.size(); ++i) {
    EXPECT_EQ(kRows[i].block, static_cast<int>(i) + 1);
    const bool ingress = blocks_[i].text.find("kind: Ingress") != std::string::npos;
    EXPECT_EQ(kRows[i].why == std::string(kIngress), ingress) << "block " << i + 1;
    const bool used = kRows[i].use != Use::left;
    EXPECT_TRUE(!used || blocks_[i].fence == "yaml") << "block " << i + 1;
  }
}

TEST_F(Seeds, TheQuickStartGivesTheNewDeploymentAPort) {
  create(block(2));
  create(block(3));
  create(block(8));
  ASSERT_TRUE(pool_is_ready("ingress-test", "pool1"));
  merge(kube::types::kNamespace, {"", "ingress-test"},
        R"({"metadata":{"labels":{"bcs-ingress-controller-inject":"true"}}})");
  create(block(12));
  const Value pod = ready_pod("ingress-test", "nginx-portpool-");
  const auto entries = api::decode_pool_bindings(annotation(pod, api::kPoolBindingsAnnotation));
  ASSERT_TRUE(entries);
  ASSERT_EQ(entries->size(), 1u);
  EXPECT_EQ(entries->front().start_port, 31000);
  EXPECT_EQ(entries->front().rs_start_port, 80);
  EXPECT_EQ(variable(pod, "BCS_PORTPOOL_PORT_VIPLIST_TCP_80"),
            api::public_address(entries->front()));
  // The workloads of the page run beside it, without ports.
  EXPECT_TRUE(eventually([&] {
    return wire::int_at(get(kube::types::kStatefulSet, "ingress-test", "nginx-sts"),
                        "/status/readyReplicas") == 3;
  }));
}

TEST_F(Seeds, RandomHostPortsLookAsShown) {
  create(block(25));
  std::vector<Value> pods;
  ASSERT_TRUE(eventually([&] {
    pods = list(kube::types::kPod, "default");
    return pods.size() == 3;
  }));
  const auto shown = wire::parse_yaml(block(26));
  ASSERT_TRUE(shown) << shown.error().to_string();
  for (const Value& pod : pods) {
    const auto port = wire::int_at(pod, "/spec/containers/0/ports/0/hostPort").value_or(0);
    EXPECT_GT(port, 0);
    EXPECT_GT(wire::int_at(pod, "/spec/containers/0/ports/1/hostPort").value_or(0), 0);
    const std::string label = fmt::format("{}.randhostport.webhook.bkbcs.tencent.com", port);
    EXPECT_EQ(wire::string_at(pod, "/metadata/labels/" + label), std::to_string(port));
    EXPECT_EQ(variable(pod, "BCS_RANDHOSTPORT_FOR_CONTAINER_PORT_8080"), std::to_string(port));
    const Array* wanted = wire::array_at(*shown, "/spec/containers/0/env");
    const Array* env = wire::array_at(pod, "/spec/containers/0/env");
    ASSERT_TRUE(wanted && env);
    for (const Value& one : *wanted) {
      const bool found = std::ranges::any_of(*env, [&](const Value& other) {
        return wire::string_at(other, "/name") == wire::string_at(one, "/name") &&
               wire::string_at(other, "/valueFrom/fieldRef/fieldPath") ==
                   wire::string_at(one, "/valueFrom/fieldRef/fieldPath");
      });
      EXPECT_TRUE(found) << wire::string_at(one, "/name");
    }
    const char* terms =
        "/spec/affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution";
    ASSERT_TRUE(wire::array_at(pod, terms) && wire::array_at(*shown, terms));
    EXPECT_EQ(wire::array_at(pod, terms)->size(), wire::array_at(*shown, terms)->size());
    // Whoever comes to that port of the node finds the Pod.
    const std::string name = name_of(pod);
    std::string host;
    ASSERT_TRUE(eventually([&] {
      host = node_ip(get(kube::types::kPod, "default", name.substr(name.find('/') + 1)));
      return !host.empty();
    }));
    expect_answer({host, model::port_of(port)}, name);
  }
}

TEST_F(Seeds, APodOfThePoolIsToldWhatThePageShows) {
  make_namespace("test");
  create(block(31));
  ASSERT_TRUE(pool_is_ready("test", "test-pool1"));
  const Value pool = get(api::port_pool_kind().type, "test", "test-pool1");
  const auto shown = wire::parse_yaml(block(32));
  ASSERT_TRUE(shown) << shown.error().to_string();
  for (const char* field : {"itemName", "message", "status", "startPort", "endPort"}) {
    const std::string at = std::string("/status/poolItems/0/") + field;
    const Value* is = wire::find(pool, at);
    const Value* wanted = wire::find(*shown, at);
    ASSERT_TRUE(is && wanted) << field;
    EXPECT_EQ(*is, *wanted) << field;
  }
  EXPECT_EQ(wire::string_at(pool, "/metadata/finalizers/0"),
            wire::string_at(*shown, "/metadata/finalizers/0"));
  create(block(34));
  const Value pod = ready_pod("test", "nginx-");
  expect_shown(pod, shown_bindings(block(35)));
  EXPECT_TRUE(variable(pod, "BCS_PORTPOOL_PORT_VIPLIST_TCP_80").ends_with(":31000"));
}

TEST_F(Seeds, APodGetsASegmentAsShown) {
  make_namespace("test");
  create(block(41));
  ASSERT_TRUE(pool_is_ready("test", "test-pool1"));
  create(block(34));
  expect_shown(ready_pod("test", "nginx-"), shown_bindings(block(42)));
}

TEST_F(Seeds, AFieldOfOnesOwnIsPassedOnAsShown) {
  make_namespace("test");
  create(block(43));
  ASSERT_TRUE(pool_is_ready("test", "test-pool1"));
  create(block(34));
  expect_shown(ready_pod("test", "nginx-"), shown_bindings(block(44)));
}

}  // namespace
}  // namespace berth
