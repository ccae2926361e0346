// People lay hands on a house, each with the rights that he has, and every write of ours that
// follows is crashed before and after its effect. Minutes of work: not for a build with sanitizers.
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "hand_moves.h"
#include "hands_house.h"

namespace berth::scenario {
namespace {

using wire::Array;
using wire::Object;
using wire::Value;

using std::chrono::milliseconds;
using std::chrono::seconds;

// What the two people of the house do, by their names.
using Story = std::function<void(Hand& tenant, Hand& other)>;

Object guest(std::string_view ns, std::string_view name, std::string_view request) {
  const Object annotations{{api::kPortPoolsAnnotation, "true"}, {api::kPortsAnnotation, request}};
  return {{"apiVersion", "v1"},
          {"kind", "Pod"},
          {"metadata", Object{{"namespace", ns}, {"name", name}, {"annotations", annotations}}},
          {"spec", Object{{"containers",
                           Array{Object{{"name", "room"},
                                        {"image", "room:1"},
                                        {"ports", Array{Object{{"containerPort", 8000}}}}}}}}}};
}

void wait(Hand& hand, seconds span) { (void)hand.world().cluster().pause(span, {}); }

void write_claim(Hand& hand, std::string_view ns, std::string_view listener, Value claim) {
  (void)hand.patch_meta(path_in(ns, "listeners", listener),
                        {{"annotations", Object{{ledger::kClaimAnnotation, std::move(claim)}}}});
}

// A room on two load balancers and one on one; claims, a Listener and a PortBinding are edited.
void tenants_meddle(Hand& tenant, Hand&) {
  (void)tenant.ask("POST", path_in(kLobby, "pods"), guest(kLobby, "a", "own/pair TCP_UDP 8000"));
  (void)tenant.ask("POST", path_in(kLobby, "pods"), guest(kLobby, "b", "own/one TCP 8000"));
  wait(tenant, seconds{5});
  write_claim(tenant, kLobby, "east-tcp-43000", nullptr);
  write_claim(tenant, kLobby, "west-udp-43000", "");
  write_claim(tenant, kLobby, "demo-tcp-31000", "");
  (void)tenant.ask("DELETE", path_in(kLobby, "listeners", "demo-tcp-31001"));
  (void)tenant.patch_meta(path_in(kLobby, "portbindings", "a"),
                          {{"annotations", Object{{"berth.dev/pod-uid", nullptr}}}});
  wait(tenant, seconds{15});
  (void)tenant.ask("DELETE", path_in(kLobby, "pods", "a"));
}

// Load balancers, the lease, and a claim of somebody else's room.
void operators_meddle(Hand& tenant, Hand& oscar) {
  (void)tenant.ask("POST", path_in(kLobby, "pods"), guest(kLobby, "a", "own/pair TCP_UDP 8000"));
  wait(tenant, seconds{5});
  write_claim(oscar, kLobby, "east-udp-43000", nullptr);
  (void)oscar.ask("DELETE", "/apis/berth.dev/v1/loadbalancers");
  wait(oscar, seconds{5});
  (void)oscar.ask("DELETE", "/apis/coordination.k8s.io/v1/namespaces/default/leases/berth");
  (void)oscar.ask("DELETE", path_in(kGames, "listeners", "demo-tcp-30005"));
  wait(oscar, seconds{15});
  (void)tenant.ask("DELETE", path_in(kLobby, "pods", "a"));
}

// A CRD, our Secrets, our webhooks.
void administrators_meddle(Hand& tenant, Hand& alice) {
  (void)tenant.ask("POST", path_in(kLobby, "pods"), guest(kLobby, "a", "own/pair TCP_UDP 8000"));
  wait(tenant, seconds{5});
  (void)alice.ask("DELETE",
                  "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"
                  "portbindings.networkextension.bkbcs.tencent.com");
  wait(alice, seconds{5});
  deletes_our_secret(alice);
  deletes_our_webhooks(alice);
  wait(alice, seconds{15});
  (void)tenant.ask("DELETE", path_in(kLobby, "pods", "a"));
}

struct Crashed {
  world::Role role = world::Role::tenant;
  Story story{};
  std::uint64_t before = 0;  // writes until the story begins, in the run without crash
};

Result<sim::RunReport> run_crashed(Crashed& crashed, const sim::CrashPlan& plan) {
  world::WorldOptions options;
  sim::CrashPlan shifted = plan;
  if (auto* at = std::get_if<sim::CrashAt>(&shifted)) at->write_index += crashed.before;
  options.cluster.kernel.crash = shifted;
  options.cluster.kernel.max_latency = milliseconds{10};
  options.cluster.link.max_watch_delay = milliseconds{50};
  HandsHouse house(7, options, crashed.role);
  if (Result<> open = house.open(); !open) return pass(open);
  if (std::holds_alternative<sim::NoCrash>(plan))
    crashed.before = house.world().kernel().writes_seen();
  const auto done = house.house().cluster().play("people", [&](std::stop_token) {
    Hand tenant(house.world(), house.trust(), house.diary(), house.people()[0], Random(1));
    Hand other(house.world(), house.trust(), house.diary(), house.people()[1], Random(2));
    crashed.story(tenant, other);
  });
  const auto order = [&]() -> Result<> {
    if (Result<> ran = house.house().run_until([&] { return *done; }); !ran) return ran;
    if (Result<> tidied = house.tidy_up(); !tidied) return tidied;
    return house.house().settle();
  };
  if (Result<> settled = order(); !settled) {
    fmt::print("{}\n", house.diary().recent());
    return pass(settled);
  }
  Result<sim::RunReport> report = house.house().report();
  if (report) report->writes -= crashed.before;
  return report;
}

void crash_all(world::Role role, Story story) {
  Crashed crashed{.role = role, .story = std::move(story)};
  const auto swept =
      crash_everywhere(fmt::format("{}s meddle", world::to_string(role)),
                       [&](const sim::CrashPlan& plan) { return run_crashed(crashed, plan); });
  ASSERT_TRUE(swept) << swept.error().message;
  EXPECT_GE(swept->writes, 30u);
}

TEST(HandsCrash, WhileTenantsMeddle) { crash_all(world::Role::tenant, tenants_meddle); }

TEST(HandsCrash, WhileOperatorsMeddle) {
  crash_all(world::Role::operator_of_ours, operators_meddle);
}

TEST(HandsCrash, WhileAdministratorsMeddle) {
  crash_all(world::Role::administrator, administrators_meddle);
}

}  // namespace
}  // namespace berth::scenario
