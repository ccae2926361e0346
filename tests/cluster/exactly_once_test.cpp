// Exactly once on a real control plane: whatever goes wrong between our answer to the API server
// and the Pod, no port has two owners and none is lost.

#include <fmt/ranges.h>

#include <boost/json.hpp>
#include <future>

#include "base/encoding.h"
#include "base/random.h"
#include "on_berth_cluster.h"
#include "parity/webhook_host.h"

namespace berth {
namespace {

using namespace std::chrono_literals;
using testing::eventually;
using ::testing::HasSubstr;
using wire::Array;
using wire::Object;
using wire::Value;

// Instead of a minute: longer than any creation here takes.
constexpr auto kClaimLifetime = 12s;
constexpr auto kAfterLifetime = 40s;

class ExactlyOnce : public OnBerthCluster {
 protected:
  static void SetUpTestSuite() {
    BerthClusterOptions options;
    options.controller_args.push_back(
        fmt::format("--claim-lifetime-seconds={}", kClaimLifetime.count()));
    start_cluster(std::move(options));
  }

  static std::size_t unbound(const std::string& ns) {
    std::size_t count = 0;
    for (const auto& [name, claim] : claims_in(*cluster_, ns))
      count += claim.state == ledger::SlotState::claimed ? 1 : 0;
    return count;
  }
  static bool all_free(const std::string& ns) { return claims_in(*cluster_, ns).empty(); }

  // A webhook for the Pods of one namespace that is called after ours: webhooks go by the names of
  // their configurations.
  void add_webhook(const parity::WebhookHost& host, const std::string& kind, const std::string& ns,
                   Object more) {
    Object hook{
        {"name", "zz.example.com"},
        {"clientConfig",
         Object{{"url", host.url() + "/" + ns}, {"caBundle", base64_encode(host.ca_pem())}}},
        {"rules", Array{Object{{"apiGroups", Array{""}},
                               {"apiVersions", Array{"v1"}},
                               {"resources", Array{"pods"}},
                               {"operations", Array{"CREATE"}}}}},
        {"namespaceSelector", Object{{"matchLabels", Object{{"kubernetes.io/metadata.name", ns}}}}},
        {"failurePolicy", "Fail"},
        {"sideEffects", "None"},
        {"admissionReviewVersions", Array{"v1"}}};
    for (const auto& member : more) hook[member.key()] = member.value();
    make(Object{{"apiVersion", "admissionregistration.k8s.io/v1"},
                {"kind", kind},
                {"metadata", Object{{"name", "zz-" + ns}}},
                {"webhooks", Array{hook}}});
  }

  ThreadTasks tasks_;
};

// Many at once, each answered by one of two replicas.
TEST_F(ExactlyOnce, PodsThatComeAtOneMomentHavePortsOfTheirOwn) {
  const std::string ns = room_for("parallel", 30);
  std::vector<std::future<std::string>> creations;
  for (int i = 0; i < 36; ++i) {
    creations.push_back(std::async(std::launch::async, [&, i] {
      return error_of(cluster_->create(bare_room(ns, fmt::format("room-{}", i))));
    }));
  }
  std::size_t refused = 0;
  for (auto& creation : creations) {
    const std::string error = creation.get();
    if (error == "no error") continue;
    ++refused;
    EXPECT_THAT(error, HasSubstr("30 of 30 in use"));
  }
  EXPECT_EQ(refused, 6u) << "thirty ports for thirty Pods";
  EXPECT_EQ(settle(*cluster_, ns, 30), "");
}

// A quota is looked at after webhooks: the port is taken, and the Pod never comes.
TEST_F(ExactlyOnce, AQuotaThatRefusesPodsDoesNotDrainThePool) {
  const std::string ns = room_for("quota", 20);
  make(Object{{"apiVersion", "v1"},
              {"kind", "ResourceQuota"},
              {"metadata", Object{{"namespace", ns}, {"name", "few"}}},
              {"spec", Object{{"hard", Object{{"pods", "2"}}}}}});
  ASSERT_TRUE(eventually(120s, [&] {
    const Value quota = cluster_->get(quota_type(), ns, "few").value_or(Value());
    return wire::string_at(quota, "/status/hard/pods") == "2";
  }));
  const RoomsSpec spec{.kind = "Deployment", .ns = ns, .name = "room", .replicas = 4};
  make(workload(spec));
  make(workload({.ns = ns, .name = "set", .replicas = 2}));
  std::size_t most = 0;
  const auto watch = [&] { most = std::max(most, unbound(ns)); };
  ASSERT_TRUE(eventually(120s, [&] {
    watch();
    return rooms(*cluster_, ns).size() == 2 && most > 0;
  }));
  // As long as attempts go on, the claims of those that failed are freed behind them.
  (void)eventually(kClaimLifetime + 3s, [&] {
    watch();
    return false;
  });
  EXPECT_LE(most, 14u) << "of 20 ports";
  EXPECT_EQ(rooms(*cluster_, ns).size(), 2u);

  ASSERT_TRUE(cluster_->merge(quota_type(), ns, "few",
                              Object{{"spec", Object{{"hard", Object{{"pods", "50"}}}}}}));
  EXPECT_EQ(settle(*cluster_, ns, 6, 90s), "");
}

// Another webhook is asked after ours and does not answer in time.
TEST_F(ExactlyOnce, ACreationThatTimesOutAfterUsLeavesNoPortBehind) {
  const std::string ns = room_for("slow", 4);
  auto host = parity::WebhookHost::start(tasks_);
  ASSERT_TRUE(host) << host.error().to_string();
  (*host)->script("/slow", Object{{"after", 5}});
  add_webhook(**host, "ValidatingWebhookConfiguration", ns, {{"timeoutSeconds", 2}});
  ASSERT_TRUE(eventually(120s, [&] {
    return error_of(cluster_->create(bare_room(ns, "probe"))).find("zz.example.com") !=
           std::string::npos;
  }));
  EXPECT_GT(unbound(ns), 0u) << "the port was given in our answer";
  (void)cluster_->remove(kube::types::kValidatingWebhookConfiguration, "", "zz-slow");
  (void)cluster_->remove(kube::types::kPod, ns, "probe");  // before the server knew the webhook
  EXPECT_TRUE(eventually(kAfterLifetime, [&] { return all_free(ns); }))
      << "a claim outlived its time";
  for (int i = 0; i < 4; ++i) make(bare_room(ns, fmt::format("room-{}", i)));
  EXPECT_EQ(settle(*cluster_, ns, 4), "");
}

// A replica that hangs behind the shared address: what it was asked fails, and the rest goes on.
TEST_F(ExactlyOnce, AReplicaThatHangsCostsNoPort) {
  const std::string ns = room_for("hung", 12);
  const std::size_t leader = cluster_->wait_for_leader();
  const std::size_t other = cluster_->start_replica();
  ASSERT_TRUE(cluster_->wait_until_ready(other));
  cluster_->hold_replica(other);
  const RoomsSpec spec{.kind = "Deployment", .ns = ns, .name = "room", .replicas = 12};
  make(workload(spec));
  EXPECT_TRUE(eventually(120s, [&] { return rooms(*cluster_, ns).size() == 12; }));
  cluster_->resume_replica(other);
  EXPECT_EQ(settle(*cluster_, ns, 12), "");
  cluster_->kill_replica(other);
  EXPECT_EQ(cluster_->wait_for_leader(), leader);
}

// A webhook after ours adds a container, so the server asks us again.
TEST_F(ExactlyOnce, AContainerThatIsAddedLaterKnowsTheSamePort) {
  const std::string ns = room_for("sidecar", 4);
  auto host = parity::WebhookHost::start(tasks_);
  ASSERT_TRUE(host) << host.error().to_string();
  const Object container{{"name", "sidecar"}, {"image", "example/sidecar:1"}};
  const Array patch{Object{{"op", "add"}, {"path", "/spec/containers/-"}, {"value", container}}};
  (*host)->script("/sidecar", Object{{"response", Object{{"allowed", true}, {"patch", patch}}}});
  add_webhook(**host, "MutatingWebhookConfiguration", ns, {{"reinvocationPolicy", "Never"}});
  const auto count = [](const Value& pod) {
    const Array* containers = wire::array_at(pod, "/spec/containers");
    return containers ? containers->size() : 0;
  };
  ASSERT_TRUE(eventually(120s, [&] {
    return count(cluster_->create(bare_room(ns, "probe"), true).value_or(Value())) == 2;
  }));
  for (int i = 0; i < 4; ++i) {
    const Result<Value> pod = cluster_->create(bare_room(ns, fmt::format("room-{}", i)));
    ASSERT_TRUE(pod) << pod.error().to_string();
    ASSERT_EQ(count(*pod), 2u);
    const Value* mine = wire::find(*pod, "/spec/containers/0/env");
    const Value* its = wire::find(*pod, "/spec/containers/1/env");
    ASSERT_TRUE(mine && its) << wire::to_json(*pod);
    EXPECT_EQ(wire::to_json(*its), wire::to_json(*mine));
    EXPECT_EQ(its->as_array().size(), 1u);
  }
  EXPECT_EQ(settle(*cluster_, ns, 4), "") << "four ports for four Pods: each took one";
}

// `kubectl get -o yaml`, another name, `kubectl create`.
TEST_F(ExactlyOnce, ACopiedManifestGetsPortsOfItsOwn) {
  const std::string ns = room_for("copied", 4);
  make(bare_room(ns, "room"));
  ASSERT_EQ(settle(*cluster_, ns, 1), "");
  Value copy = cluster_->get(kube::types::kPod, ns, "room").value();
  ASSERT_TRUE(wire::set_at(copy, "/metadata/name", "copy"));
  for (const char* field : {"/metadata/uid", "/metadata/resourceVersion", "/status",
                            "/metadata/creationTimestamp", "/spec/nodeName"})
    EXPECT_TRUE(wire::remove_at(copy, field)) << field;
  make(copy);
  EXPECT_EQ(settle(*cluster_, ns, 2), "");
  // While the first one is still unbound, too.
  const Result<Value> fresh = cluster_->create(bare_room(ns, "fresh"));
  ASSERT_TRUE(fresh);
  copy = *fresh;
  ASSERT_TRUE(wire::set_at(copy, "/metadata/name", "twin"));
  for (const char* field :
       {"/metadata/uid", "/metadata/resourceVersion", "/status", "/metadata/creationTimestamp"})
    EXPECT_TRUE(wire::remove_at(copy, field)) << field;
  make(copy);
  EXPECT_EQ(settle(*cluster_, ns, 4), "");
}

// Our label is no secret: somebody takes it off, at once or later.
TEST_F(ExactlyOnce, APodWhoseLabelIsTakenOffKeepsItsPort) {
  const std::string ns = room_for("unlabelled", 4);
  const auto take_off = [&](const std::string& name) {
    const Object labels{{std::string(ledger::kTokenLabel), nullptr}};
    return cluster_->merge(kube::types::kPod, ns, name,
                           Object{{"metadata", Object{{"labels", labels}}}});
  };
  for (const char* name : {"early", "late"}) make(bare_room(ns, name));
  ASSERT_TRUE(take_off("early"));
  ASSERT_EQ(settle(*cluster_, ns, 2), "");
  ASSERT_TRUE(take_off("late"));
  std::map<std::string, std::string> before;
  for (const Room& room : rooms(*cluster_, ns)) before[room.name] = address_of(room);
  // One that has no label before anybody has seen it: the address comes with the node.
  Value slow = bare_room(ns, "unseen");
  ASSERT_TRUE(
      wire::set_at(slow, "/spec/schedulingGates", Array{Object{{"name", "example.com/wait"}}}));
  make(slow);
  ASSERT_TRUE(take_off("unseen"));
  // Longer than a claim without a Pod lives.
  (void)eventually(kClaimLifetime + 4s, [&] { return claims_in(*cluster_, ns).size() != 3; });
  const Object gates{{"spec", Object{{"schedulingGates", Array{}}}}};
  ASSERT_TRUE(cluster_->merge(kube::types::kPod, ns, "unseen", gates));
  make(bare_room(ns, "fourth"));
  EXPECT_EQ(settle(*cluster_, ns, 4), "");
  for (const Room& room : rooms(*cluster_, ns)) {
    const auto it = before.find(room.name);
    EXPECT_TRUE(it == before.end() || it->second == address_of(room)) << room.name;
  }
}

// The leader dies at moments that a seed chooses, while rooms come and go.
TEST_F(ExactlyOnce, KilledAtAnyMomentNothingIsGivenTwiceOrLost) {
  const char* given = std::getenv("BERTH_TEST_SEED");
  const std::uint64_t seed = given ? std::strtoull(given, nullptr, 10) : 20261115;
  fmt::print("seed {} (set BERTH_TEST_SEED for another)\n", seed);
  Random random(seed);
  const std::string ns = room_for("killed", 24);
  make(workload({.kind = "Deployment", .ns = ns, .name = "room", .replicas = 8}));
  make(workload({.ns = ns, .name = "kept", .replicas = 6, .keep = "60s"}));
  ASSERT_EQ(settle(*cluster_, ns, 14), "");
  std::map<std::string, std::string> kept;
  for (const Room& room : rooms(*cluster_, ns))
    if (room.name.starts_with("kept")) kept[room.name] = address_of(room);

  constexpr int kRounds = 3;
  std::string shared;
  for (int round = 0; round < kRounds && shared.empty(); ++round) {
    const std::vector<Room> all = rooms(*cluster_, ns);
    for (int i = 0; i < 6; ++i)
      (void)cluster_->remove(kube::types::kPod, ns, all[random.next() % all.size()].name);
    const auto moment = std::chrono::milliseconds(random.next() % 800);
    (void)eventually(moment,
                     [&] { return !(shared = shared_ports(rooms(*cluster_, ns))).empty(); });
    cluster_->replace_leader();
    for (int i = 0; i < 4; ++i)
      (void)cluster_->remove(kube::types::kPod, ns, all[random.next() % all.size()].name);
    cluster_->wait_for_leader();
    (void)eventually(1s, [&] { return !(shared = shared_ports(rooms(*cluster_, ns))).empty(); });
  }
  EXPECT_EQ(shared, "");
  EXPECT_EQ(settle(*cluster_, ns, 14), "");
  for (const Room& room : rooms(*cluster_, ns)) {
    const auto it = kept.find(room.name);
    EXPECT_TRUE(it == kept.end() || it->second == address_of(room)) << room.name;
  }
}

}  // namespace
}  // namespace berth
