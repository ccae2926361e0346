// A house with people in it, for tests of single deeds.
#pragma once

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "api/keys.h"
#include "api/pod_ports.h"
#include "claims/pod_seal.h"
#include "claims/slot.h"
#include "hand_objects.h"
#include "hands_house.h"
#include "ledger/claim.h"

namespace berth::scenario {

using wire::Array;
using wire::Object;
using wire::Value;

using std::chrono::minutes;
using std::chrono::seconds;

class HandsTest : public ::testing::Test {
 protected:
  explicit HandsTest(world::Role role = world::Role::tenant) : house_(1, options(), role) {}
  void SetUp() override { ASSERT_TRUE(house_.open()); }

  static world::WorldOptions options() {
    world::WorldOptions out;
    out.cluster.link.max_watch_delay = std::chrono::milliseconds{200};
    return out;
  }
  world::World& world() { return house_.world(); }
  Hand hand(std::size_t index) {
    return {world(), house_.trust(), house_.diary(), house_.people()[index], Random(1)};
  }
  Hand tenant() { return hand(0); }
  Hand other() { return hand(1); }  // another tenant, or whom the suite is about

  // The books fail the run when a promise is broken.
  void run_for(Duration span) {
    const Instant end = world().kernel().now() + span;
    const Result<> ran = house_.house().run_until([&] { return world().kernel().now() >= end; });
    ASSERT_TRUE(ran) << ran.error().to_string() << "\n" << house_.diary().recent();
    house_.trust().check_all();
    const auto& failure = world().kernel().failure();
    ASSERT_FALSE(failure) << failure->to_string() << "\n" << house_.diary().recent();
  }
  void expect_order() {
    if (HasFatalFailure()) return;
    const Result<> tidied = house_.tidy_up();
    ASSERT_TRUE(tidied) << tidied.error().to_string();
    const Result<> settled = house_.house().settle();
    ASSERT_TRUE(settled) << settled.error().to_string();
    const Result<> filled = house_.fill_lobby();
    ASSERT_TRUE(filled) << filled.error().to_string();
  }

  Value get(const std::string& path) {
    const auto found = world().cluster().ask("GET", path);
    return found ? *found : Value(nullptr);
  }
  std::vector<Value> all(const std::string& path) {
    const auto found = world().cluster().list(path);
    return found ? *found : std::vector<Value>{};
  }
  bool is_ready(std::string_view ns, std::string_view name) {
    const Value pod = get(path_in(ns, "pods", name));
    return !pod.is_null() && RoomBook::read(pod).ready;
  }
  std::string claim_on(std::string_view ns, std::string_view listener) {
    return std::string(wire::string_at(
        get(path_in(ns, "listeners", listener)),
        "/metadata/annotations/" + wire::escape_pointer_step(ledger::kClaimAnnotation)));
  }
  std::string token() { return ledger::make_token(world().kernel().wall_time(), 1, ++tokens_); }
  static Object pool(std::string_view ns, std::string_view name, Array items) {
    return {{"apiVersion", "networkextension.bkbcs.tencent.com/v1"},
            {"kind", "PortPool"},
            {"metadata", Object{{"namespace", ns}, {"name", name}}},
            {"spec", Object{{"poolItems", std::move(items)}}}};
  }
  static std::string told_of(std::string_view pool, std::string_view ns, std::string_view item,
                             int port) {
    return api::encode_pool_bindings({{.pool_name = std::string(pool),
                                       .pool_namespace = std::string(ns),
                                       .load_balancer_ids = {"edge:demo"},
                                       .pool_item_name = std::string(item),
                                       .protocol = "TCP",
                                       .start_port = port,
                                       .rs_start_port = 8000}});
  }
  // Posts what the API server would, as anybody can who knows the address.
  void post_review(std::string_view ns, std::string_view name, const Object& object) {
    const auto hooks = world().cluster().list(
        "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations");
    ASSERT_TRUE(hooks);
    for (const Value& hook : wire::find(hooks->front(), "/webhooks")->as_array()) {
      const std::string url(wire::string_at(hook, "/clientConfig/url"));
      const Object request{
          {"uid", token()},
          {"operation", "CREATE"},
          {"namespace", ns},
          {"name", name},
          {"kind", Object{{"group", ""}, {"version", "v1"}, {"kind", "Pod"}}},
          {"resource", Object{{"group", ""}, {"version", "v1"}, {"resource", "pods"}}},
          {"object", object}};
      const auto posted =
          house_.house().cluster().play("stranger", [this, url, request](std::stop_token) {
            const auto answer =
                world().call({.url = url},
                             wire::to_json(Object{{"apiVersion", "admission.k8s.io/v1"},
                                                  {"kind", "AdmissionReview"},
                                                  {"request", request}}),
                             seconds{10});
            house_.diary().write(fmt::format("a stranger posts to {}: {}", url,
                                             answer ? answer->body : answer.error().to_string()));
          });
      ASSERT_TRUE(house_.house().run_until([&] { return *posted; }));
    }
  }

  HandsHouse house_;
  std::uint64_t tokens_ = 0;
};

class OperatorTest : public HandsTest {
 protected:
  OperatorTest() : HandsTest(world::Role::operator_of_ours) {}
};

class AdministratorTest : public HandsTest {
 protected:
  AdministratorTest() : HandsTest(world::Role::administrator) {}
};

}  // namespace berth::scenario
