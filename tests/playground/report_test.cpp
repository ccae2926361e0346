// `berth status` and `berth explain` on a playground: each thing that can keep a Pod from its ports
// is named, with what to do.

#include <gmock/gmock.h>

#include "report/explain.h"
#include "report/status.h"
#include "world.h"

namespace berth {
namespace {

using report::ExplainView;
using report::Explanation;
using report::Verdict;
using ::testing::HasSubstr;

std::string workload(const std::string& kind, const std::string& ns, const std::string& own,
                     const std::string& of_template, int replicas = 1) {
  return fmt::format(R"(
apiVersion: apps/v1
kind: {}
metadata:
  name: lobby
  namespace: {}
  annotations: {{{}}}
spec:
  replicas: {}
  serviceName: lobby
  selector: {{matchLabels: {{app: lobby}}}}
  template:
    metadata:
      labels: {{app: lobby}}
      annotations: {{{}}}
    spec:
      containers: [{{name: a, image: i, ports: [{{containerPort: 8000}}]}}]
)",
                     kind, ns, own, replicas, of_template);
}

std::string asking_for(const std::string& ports) {
  return fmt::format(R"(portpools.networkextension.bkbcs.tencent.com: "true", )"
                     R"(ports.portpools.networkextension.bkbcs.tencent.com: "{}")",
                     ports);
}

class Report : public World {
 protected:
  ExplainView view_of(const std::string& target, const std::string& ns) {
    const auto parsed = report::parse_target(target);
    EXPECT_TRUE(parsed) << parsed.error().to_string();
    auto view = report::read_for_explain(context_.within(10s), play_->client(), "default",
                                         parsed->first, {ns, parsed->second});
    EXPECT_TRUE(view) << view.error().to_string();
    return view ? std::move(*view) : ExplainView{};
  }
  // What the last step says, with its remedy.
  static std::string last(const Explanation& told) {
    if (told.steps.empty()) return "nothing";
    const report::Step& step = told.steps.back();
    return step.what + (step.fix.empty() ? "" : " -> " + step.fix);
  }
  std::string explained(const std::string& target, const std::string& ns) {
    return last(report::explain(view_of(target, ns)));
  }
  bool comes_to_say(const std::string& target, const std::string& ns, const std::string& text) {
    return eventually([&] { return explained(target, ns).find(text) != std::string::npos; });
  }
  report::Status status() {
    auto view = report::read_cluster(context_.within(10s), play_->client(), "default");
    EXPECT_TRUE(view) << view.error().to_string();
    return report::make_status(*view);
  }
};

TEST_F(Report, AllIsWellWhenRoomsHaveTheirAddresses) {
  create(example("rooms.yaml"));
  room_is_ready("play/room-0");
  room_is_ready("play/room-1");
  EXPECT_TRUE(eventually([&] { return status().well() && status().bindings.empty(); }));
  const report::Status now = status();
  ASSERT_EQ(now.items.size(), 1u);
  EXPECT_EQ(now.items[0].ports, 40u);
  EXPECT_EQ(now.items[0].ready, 40u);
  EXPECT_EQ(now.items[0].used, 4u);
  EXPECT_EQ(now.claims.at("bound"), 4u);
  EXPECT_TRUE(now.leader.alive);
  EXPECT_THAT(to_text(now), HasSubstr("all is well"));
  EXPECT_TRUE(wire::bool_at(to_json(now), "/well").value_or(false));

  const Explanation told = report::explain(view_of("pod/room-0", "play"));
  EXPECT_TRUE(told.ready()) << to_text(told);
  EXPECT_THAT(to_text(told), HasSubstr("leads to the Pod"));
  EXPECT_TRUE(report::explain(view_of("statefulset/room", "play")).ready());
}

TEST_F(Report, WhatIsBrokenIsNamed) {
  create(example("rooms.yaml"));
  room_is_ready("play/room-0");
  const ExplainView sound = view_of("pod/room-0", "play");

  ExplainView stale = sound;
  stale.cluster.now += 10min;
  EXPECT_THAT(last(report::explain(stale)), HasSubstr("the controller is gone"));
  EXPECT_THAT(to_text(report::make_status(stale.cluster)), HasSubstr("no controller runs"));

  ExplainView no_ip = sound;
  wire::find(no_ip.pod, "/status")->get_object().erase("podIP");
  EXPECT_THAT(last(report::explain(no_ip)), HasSubstr("waits for the Pod's IP"));

  ExplainView unsynced = sound;
  ExplainView lost = sound;
  for (std::size_t i = 0; i < sound.cluster.listeners.size(); ++i) {
    if (claims::claim_text(*sound.cluster.listeners[i]).empty()) continue;
    api::Listener listener = *sound.cluster.listeners[i];
    listener.status.status = api::kNotSynced;
    listener.status.message = "the provider says no";
    unsynced.cluster.listeners[i] = std::make_shared<const api::Listener>(listener);
    auto claim = claims::claim_of(listener).value();
    claim.pod_uid = "another";
    claim.token = "another";
    claim.pod_name = "room-9";
    for (auto& [key, value] : listener.meta.annotations)
      if (key == ledger::kClaimAnnotation) value = ledger::encode(claim);
    lost.cluster.listeners[i] = std::make_shared<const api::Listener>(listener);
  }
  EXPECT_THAT(last(report::explain(unsynced)), HasSubstr("the provider says no"));
  EXPECT_THAT(to_text(report::make_status(unsynced.cluster)), HasSubstr("the provider says no"));
  EXPECT_THAT(last(report::explain(lost)), HasSubstr("ClaimLost"));
  EXPECT_THAT(last(report::explain(lost)), HasSubstr("play/room-9"));
}

TEST_F(Report, WhatIsForgottenIsNamed) {
  create(example("first-room.yaml"));
  create(workload("Deployment", "default", "", asking_for("rooms.games TCP 8000")));
  EXPECT_TRUE(comes_to_say("deployment/lobby", "default",
                           "kubectl label namespace default bcs-ingress-controller-inject=true"))
      << explained("deployment/lobby", "default");

  create(workload("StatefulSet", "games", asking_for("rooms TCP 8000"), ""));
  EXPECT_TRUE(comes_to_say("statefulset/lobby", "games", "not on its template"))
      << explained("statefulset/lobby", "games");
  create(workload("Deployment", "games", "",
                  R"(portpools.networkextension.bkbcs.tencent.com: "false")"));
  EXPECT_TRUE(comes_to_say("deployment/lobby", "games", "is \"false\""))
      << explained("deployment/lobby", "games");
}

TEST_F(Report, WhyAWorkloadHasNoPodsIsNamed) {
  create(example("first-room.yaml"));
  room_is_ready("games/room-0");
  create(workload("StatefulSet", "games", "", asking_for("rooms TCP 9999")));
  EXPECT_TRUE(comes_to_say("statefulset/lobby", "games", "no container declares port 9999"))
      << explained("statefulset/lobby", "games");
  // Of a Pod that never came to be, too.
  EXPECT_THAT(explained("pod/lobby-0", "games"), HasSubstr("no container declares port 9999"));

  create(workload("Deployment", "games", "", asking_for("rooms TCP 8000"), 12));
  EXPECT_TRUE(comes_to_say("deployment/lobby", "games", "is full: 10 of 10 in use"))
      << explained("deployment/lobby", "games");
  EXPECT_THAT(explained("deployment/lobby", "games"), HasSubstr("by games/lobby-"));

  ExplainView view = view_of("deployment/lobby", "games");
  view.cluster.webhooks = nullptr;
  EXPECT_THAT(last(report::explain(view)), HasSubstr("webhook configuration is missing"));
  view = view_of("deployment/lobby", "games");
  view.cluster.ca_bundle = "another";
  EXPECT_THAT(last(report::explain(view)), HasSubstr("caBundle"));
  view = view_of("deployment/lobby", "games");
  view.cluster.pools.clear();
  EXPECT_THAT(last(report::explain(view)), HasSubstr("there is no PortPool games/rooms"));
}

TEST_F(Report, WhoIsNotThereIsSaidToBeMissing) {
  EXPECT_FALSE(report::parse_target("service/x"));
  const auto view = report::read_for_explain(context_.within(10s), play_->client(), "default",
                                             "Deployment", {"default", "nobody"});
  ASSERT_FALSE(view);
  EXPECT_EQ(view.error().code, Code::not_found);
}

}  // namespace
}  // namespace berth
